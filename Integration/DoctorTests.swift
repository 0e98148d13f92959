import Foundation
import Glibc
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
            "FUSE device", "fusermount3", "--allow-other", "kernel", "Landlock", "open files",
            "libraries", "state directory", "rclone", "mount",
        ] {
            #expect(subjects.contains(subject))
        }
        #expect(list.first { $0.subject == "FUSE device" }?.verdict == "good")
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
}
