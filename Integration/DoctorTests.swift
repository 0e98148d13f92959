import Foundation
import Glibc
import TestServer
import Testing

/// `apus doctor` on this machine, which can mount.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct DoctorTests {
    private struct Diagnosis: Decodable {
        let subject: String
        let verdict: String
        let finding: String
        let remedy: String?
    }

    private func diagnoses(
        _ environment: [String: String] = [:]
    ) throws -> (list: [Diagnosis], result: Program.Result) {
        let result = try Apus.run(["doctor", "--json"], environment: environment)
        return (try JSONDecoder().decode([Diagnosis].self, from: Data(result.output.utf8)), result)
    }

    private func verdict(
        of subject: String, _ environment: [String: String] = [:]
    ) throws -> Diagnosis {
        try #require(try diagnoses(environment).list.first { $0.subject == subject })
    }

    @Test func `names each part that mounts need, and what is wrong on one line each`() throws {
        let (list, result) = try diagnoses()
        let subjects = list.map(\.subject)
        for subject in [
            "FUSE device", "fusermount3", "--allow-other", "kernel", "Landlock", "image decoders",
            "open files", "libraries", "state directory", "rclone", "mount",
        ] {
            #expect(subjects.contains(subject))
        }
        #expect(list.first { $0.subject == "FUSE device" }?.verdict == "good")
        let decoders = list.first { $0.subject == "image decoders" }
        #expect(decoders?.verdict == "good")
        #expect(decoders?.finding.firstMatch(of: /^libvips \d+\.\d+/) != nil)
        #expect((result.status == 0) == !list.contains { $0.verdict == "bad" }, "\(result)")
        for diagnosis in list where diagnosis.verdict == "bad" {
            #expect(diagnosis.remedy != nil, "\(diagnosis)")
        }
        let lines = try Apus.run("doctor").output.split(separator: "\n")
        // Other tests mount and unmount meanwhile.
        for diagnosis in list where !diagnosis.subject.contains("mount") {
            let start = diagnosis.verdict.padding(toLength: 6, withPad: " ", startingAt: 0)
            #expect(lines.contains { $0.hasPrefix(start + diagnosis.subject) })
        }
    }

    /// Goal: a program that was copied without its worker says so, and does everything else.
    @Test func `a missing image worker is named, with its remedy`() throws {
        let folder = try Files.makeTemporaryDirectory("d")
        defer { _ = try? Program.run("rm", "-rf", folder) }
        try Program.require("cp", Apus.path, folder)
        let result = try Program.run("\(folder)/apus", "doctor")
        #expect(result.output.contains("note  image decoders"), "\(result)")
        #expect(result.output.contains("apus-image-worker is missing"), "\(result)")
        let application = try Program.run("\(folder)/apus", "apply", "sepia", folder)
        #expect(application.status == 1)
        #expect(application.errors.contains("install Apus again"), "\(application)")
    }

    @Test func `a file with credentials that others may read is bad, and how to correct it`() throws
    {
        let home = try Files.makeTemporaryDirectory("d")
        defer { _ = try? Program.run("rm", "-rf", home) }
        let environment = ["HOME": home, "XDG_STATE_HOME": "\(home)/state"]
        #expect(try !diagnoses(environment).list.contains { $0.subject == "credentials" })
        try Files.write(Array("machine a login b password c\n".utf8), to: "\(home)/.netrc")
        try Files.setMode(0o644, of: "\(home)/.netrc")
        let (list, result) = try diagnoses(environment)
        let diagnosis = try #require(list.first { $0.subject == "credentials" })
        #expect(diagnosis.verdict == "bad" && result.status == 1)
        #expect(diagnosis.remedy?.contains("chmod 600 \(home)/.netrc") == true)
        #expect(result.errorLines.count == 1 && result.errors.contains("bad, the first"))
        try Files.setMode(0o600, of: "\(home)/.netrc")
        #expect(try verdict(of: "credentials", environment).verdict == "good")
        // Neither a draft nor a state is left behind.
        #expect(try Files.names(in: home) == [".netrc"])
    }

    @Test func `rclone is looked for on the PATH, with its version`() throws {
        let folder = try Files.makeTemporaryDirectory("d")
        defer { _ = try? Program.run("rm", "-rf", folder) }
        let environment = ["PATH": "\(folder):/usr/bin:/bin"]
        for (version, verdict) in [("1.60.1-DEV", "note"), ("1.75.2", "good")] {
            try Files.write(
                Array("#!/bin/sh\necho rclone v\(version)\n".utf8), to: "\(folder)/rclone")
            try Files.setMode(0o755, of: "\(folder)/rclone")
            let diagnosis = try self.verdict(of: "rclone", environment)
            #expect(diagnosis.verdict == verdict && diagnosis.finding.contains(version))
        }
        let missing = try verdict(of: "rclone", ["PATH": folder + "/none:/usr/bin:/bin"])
        #expect(missing.verdict == "note" || missing.finding.hasPrefix("version"))
    }

    /// Method: a mount namespace with a device of root's alone, which fusermount3 opens as its caller.
    @Test(.enabled(if: geteuid() == 0, "only root can make a mount namespace"))
    func `a device that this user may not open is bad`() throws {
        let folder = try Files.makeTemporaryDirectory("d")
        defer { _ = try? Program.run("rm", "-rf", folder) }
        try Files.setMode(0o755, of: folder)
        let result = try Program.run(
            "unshare", "--mount", "--propagation", "private", "sh", "-ec",
            """
            mount -t tmpfs tmpfs "$1"
            mknod -m 600 "$1/fuse" c 10 229
            mount --bind "$1/fuse" /dev/fuse
            HOME=/ setpriv --reuid=65534 --regid=65534 --clear-groups "$2" --version || exit 77
            HOME=/ setpriv --reuid=65534 --regid=65534 --clear-groups "$2" doctor --json
            """, "sh", folder, Apus.path)
        // This user cannot reach the program.
        guard result.status != 77 else { return }
        let json = result.output.drop { $0 != "[" }
        let list = try JSONDecoder().decode([Diagnosis].self, from: Data(json.utf8))
        let device = try #require(list.first { $0.subject == "FUSE device" })
        #expect(device.verdict == "bad" && device.finding == "no permission to open /dev/fuse")
        #expect(device.remedy?.contains("chmod 666 /dev/fuse") == true)
        #expect(list.first { $0.subject == "fusermount3" }?.verdict != "good" || result.status == 1)
    }

    @Test func `a file with mounts and no credentials may be readable by others`() throws {
        let home = try Files.makeTemporaryDirectory("d")
        defer { _ = try? Program.run("rm", "-rf", home) }
        let environment = ["HOME": home, "XDG_STATE_HOME": "\(home)/state"]
        try Program.require("mkdir", "-p", "\(home)/.config/apus", "\(home)/.aws")
        let file = "\(home)/.config/apus/config.toml"
        let mount = "[mount.photos]\nsource = \"folder:/\"\npath = \"p\"\n"
        try Files.write(Array(mount.utf8), to: file)
        try Files.setMode(0o644, of: file)
        let list = try diagnoses(environment).list
        #expect(!list.contains { $0.subject == "credentials" })
        #expect(list.first { $0.subject == "configuration" }?.finding == "1 mount")
        let credentials = "[[credentials]]\nsource = \"webdav://h\"\nbearer = \"hush\"\n"
        try Files.append(credentials, to: file)
        try Files.write(Array("[default]\n".utf8), to: "\(home)/.aws/credentials")
        try Files.setMode(0o640, of: "\(home)/.aws/credentials")
        let bad = try diagnoses(environment).list.filter { $0.subject == "credentials" }
        #expect(bad.map(\.verdict) == ["bad", "bad"])
        #expect(bad[0].remedy?.contains("chmod 600 \(file)") == true)
        #expect(bad[1].remedy?.contains("chmod 600 \(home)/.aws/credentials") == true)
    }

    @Test func `a wrong configuration file is a line of its own`() throws {
        let home = try Files.makeTemporaryDirectory("d")
        defer { _ = try? Program.run("rm", "-rf", home) }
        try Program.require("mkdir", "-p", "\(home)/.config/apus")
        try Files.write(Array("nonsense = 5\n".utf8), to: "\(home)/.config/apus/config.toml")
        let diagnosis = try verdict(of: "configuration", ["HOME": home])
        #expect(diagnosis.verdict == "bad" && diagnosis.finding.contains("config.toml, line 1"))
    }

    @Test func `sources are opened, those given or all of the configuration file`() throws {
        let home = try Files.makeTemporaryDirectory("d")
        defer { _ = try? Program.run("rm", "-rf", home) }
        let environment = ["HOME": home, "XDG_STATE_HOME": "\(home)/state"]
        try Program.require("mkdir", "-p", "\(home)/.config/apus", "\(home)/cloud")
        let text = """
            [mount.good]
            source = "folder:cloud"
            path = "good"
            [mount.missing]
            source = "folder:missing"
            path = "missing"
            [mount.closed]
            source = "webdav+http://127.0.0.1:1/dav"
            path = "closed"
            """
        try Files.write(Array(text.utf8), to: "\(home)/.config/apus/config.toml")
        let list = try diagnoses(environment).list
        for (name, verdict) in [("good", "good"), ("missing", "bad"), ("closed", "bad")] {
            let diagnosis = try #require(list.first { $0.subject == name })
            #expect(diagnosis.verdict == verdict, "\(diagnosis)")
        }
        let one = try Apus.run(["doctor", "good", "folder:\(home)/none"], environment: environment)
        #expect(one.output.contains("good  good                answers within "), "\(one)")
        #expect(one.output.contains("bad   folder:\(home)/none  "), "\(one)")
        #expect(!one.output.contains("closed"))
        let unknown = try Apus.run(["doctor", "god"], environment: environment)
        #expect(unknown.status == 1 && unknown.errors.contains("did you mean good?"), "\(unknown)")
        #expect(try Files.names(in: "\(home)/cloud") == [])
    }

    @Test(arguments: [(0, "good"), (120, "note"), (-900, "bad")])
    func `the clock of a store is compared with this machine's`(
        seconds: Int, verdict: String
    ) async throws {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "GMT")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let date = format.string(from: Date() + TimeInterval(seconds))
        let body = Array("<ListBucketResult><KeyCount>0</KeyCount></ListBucketResult>".utf8)
        let result = try await ScriptedServer.run { _, connection in
            try connection.answer("200 OK", ["Date: \(date)"], body)
        } _: { server in
            try Apus.run(
                "doctor", "--json", "s3://bucket?endpoint=\(server.url(""))&anonymous=true")
        }
        let list = try JSONDecoder().decode([Diagnosis].self, from: Data(result.output.utf8))
        let clock = try #require(list.first { $0.subject == "clock" })
        #expect(clock.verdict == verdict, "\(clock)")
        if seconds < 0 { #expect(clock.finding.contains("ahead of the server"), "\(clock)") }
    }

    @Test func `few descriptors are a note`() throws {
        let result = try Program.run("prlimit", "--nofile=1024:1024", Apus.path, "doctor", "--json")
        let list = try JSONDecoder().decode([Diagnosis].self, from: Data(result.output.utf8))
        let diagnosis = try #require(list.first { $0.subject == "open files" })
        #expect(diagnosis.verdict == "note" && diagnosis.finding == "at most 1024")
    }
}

extension MountedTests {
    @Suite(.timeLimit(.minutes(3)))
    struct `A dead mount in apus doctor` {
        @Test func `is bad, with the command that removes it`() throws {
            try MountedFolder.with { folder in
                let living = try Apus.run("doctor")
                #expect(living.output.contains("good  mount               \(folder.point)\n"))
                try folder.killDaemon()
                let dead = try Apus.run("doctor")
                #expect(dead.status == 1)
                #expect(dead.output.contains("the daemon of \(folder.point) is dead"))
                #expect(dead.output.contains("run `apus unmount \(folder.point)`"))
                try folder.remount()
            }
        }
    }

    @Suite(.timeLimit(.minutes(3)))
    struct `The bundle of apus doctor` {
        /// Goal: a report can be published. Method: names and secrets with one word in them, in all places that
        /// the bundle is made from: files, failures in the log, the source, the configuration.
        @Test func `has versions and numbers, and neither secrets nor names`() throws {
            let options = MountedFolder.Options(environment: ["APUS_LOG": "trace"])
            try MountedFolder.with(options) { folder in
                let names = ["hush-file", "hush [Engine] file", "hush\nfile", "hush-folder"]
                for name in names.dropLast() { try Files.write([1], to: folder.local(name)) }
                try Files.makeDirectory(folder.local("hush-folder"))
                try folder.sync()
                // A change that cannot be sent.
                try Files.forbidChanges(in: folder.remote)
                defer { try? Files.allowChanges(in: folder.remote) }
                try Files.write([1, 2], to: folder.local("hush-new"))
                _ = try Apus.run("sync", "--timeout", "2s", folder.point)
                try Program.require("mkdir", "-p", "\(folder.base)/.config/apus")
                let text = """
                    [mount.hush-mount]
                    source = "webdav+http://127.0.0.1:1/hush-path"
                    path = "hush-place"
                    [[credentials]]
                    source = "webdav+http://127.0.0.1:1"
                    username = "hush-user"
                    password = "hush-password"
                    """
                let file = "\(folder.base)/.config/apus/config.toml"
                try Files.write(Array(text.utf8), to: file)
                try Files.setMode(0o600, of: file)
                let bundle = "\(folder.base)/report.tar"
                let result = try Apus.run(
                    ["doctor", "--bundle", bundle, "webdav+http://127.0.0.1:1/hush-other"],
                    environment: ["HOME": folder.base, "APUS_WEBDAV_BEARER": "hush-token"])
                #expect(result.status == 1, "the server does not answer: \(result)")
                let list = try Program.require("tar", "-tf", bundle)
                for name in ["README", "machine.json", "doctor.json", "mounts.json", "log-1"] {
                    #expect(list.contains("apus/\(name)\n"), "\(list)")
                }
                let all = try Program.require("tar", "-xOf", bundle)
                #expect(!all.contains("hush"), "\(all)")
                #expect(!all.contains(folder.base), "\(all)")
                #expect(all.contains("\"pending\" : 1"), "\(all)")
                #expect(all.contains("FUSE device") && all.contains("daemon: Mounting"), "\(all)")
                #expect(try Files.status(bundle).st_mode & 0o777 == 0o600)
                // It replaces no file.
                try Apus.expectRefusal("doctor", "--bundle", bundle, naming: "exists")
            }
        }
    }
}
