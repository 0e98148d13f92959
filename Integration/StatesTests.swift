import Foundation
import Glibc
import TestBytes
import Testing

extension MountedTests {
    @Suite
    struct `States` {
        @Test(.timeLimit(.minutes(2)))
        func `are listed with mount, size and pending changes, mounted or not`() throws {
            try DefaultPlace.with { place in
                try place.mount()
                try place.write(4 << 20)
                let mounted = try place.listed()
                #expect(mounted.mountPoint == place.point)
                #expect(mounted.pending == 1)
                #expect(try #require(mounted.bytesOnDisk) >= 4 << 20)
                #expect(try place.text().contains("  mounted on \(place.point), "))

                try place.require("unmount", "--now", place.point)
                let before = try place.files(of: mounted)
                let unmounted = try place.listed()
                #expect(unmounted.mountPoint == nil)
                #expect(unmounted.lastMountPoint == place.point)
                #expect(unmounted.source == place.plainSource)
                #expect(unmounted.pending == 1)
                #expect(unmounted.pendingBytes == 4 << 20)
                #expect(try #require(unmounted.bytesOnDisk) >= 4 << 20)
                #expect(try place.text().contains("  not mounted, last on \(place.point), "))
                #expect(try place.files(of: unmounted) == before)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `of a dead mount are listed as such, with their pending changes`() throws {
            try DefaultPlace.with { place in
                try place.mount()
                try place.write(4 << 20)
                try place.killDaemon()
                let dead = try place.listed()
                #expect(dead.mountPoint == place.point)
                #expect(dead.dead == true)
                #expect(dead.pending == 1)
                let refusal = try place.run("forget", "--discard", dead.stateDirectory)
                #expect(refusal.status == 1, "\(refusal)")
                #expect(refusal.errors.contains("it is mounted on \(place.point); unmount"))
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `that are not mounted are told by status while changes wait in them`() throws {
            try DefaultPlace.with { place in
                try place.mount()
                try place.write(4 << 20)
                let line =
                    "Not mounted: \(place.plainSource), 1 change (4.0 MiB) not yet on the remote in "
                #expect(!(try place.run("status").output.contains(line)))
                try place.require("unmount", "--now", place.point)
                #expect(try place.run("status").output.contains(line))
                let json = try place.run("status", "--json")
                #expect(json.errors.contains("note: \(line)"), "\(json)")
                #expect(!json.output.contains(place.point))
                try place.mount(rate: nil)
                try place.require("sync", place.point)
                try place.require("unmount", place.point)
                #expect(
                    !(try place.run("status").output.contains(
                        "Not mounted: \(place.plainSource),")))
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `are forgotten by source, mount point and path, unless they are mounted`() throws {
            try DefaultPlace.with { place in
                for name in ["source", "point", "path"] {
                    try place.mount(rate: nil)
                    try place.write(100)
                    try place.require("sync", place.point)
                    let state = try place.listed().stateDirectory
                    let argument =
                        ["source": place.plainSource, "point": place.point, "path": state][name]
                        ?? ""
                    let refusal = try place.run("forget", argument)
                    #expect(refusal.status == 1, "\(refusal)")
                    #expect(
                        refusal.errors.contains("it is mounted on \(place.point)"), "\(refusal)")
                    try place.require("unmount", place.point)
                    let output = try place.require("forget", argument)
                    #expect(output == "Removed \(state).\n")
                    #expect(!Files.exists(state))
                    #expect(!Files.exists(state + ".forgotten"))
                }
                #expect(try Files.read("\(place.remote)/new").count == 100)
            }
        }

        /// Method: a change, then a file of another program, then bytes in `lost+found`.
        @Test(.timeLimit(.minutes(2)))
        func `with anything that exists nowhere else are forgotten only with --discard`() throws {
            try DefaultPlace.with { place in
                try place.mount()
                try place.write(4 << 20)
                try place.require("unmount", "--now", place.point)
                let state = try place.listed().stateDirectory
                let changed = try place.run("forget", state)
                #expect(changed.status == 1)
                #expect(
                    changed.errors.hasPrefix(
                        "apus: forget \(state): it holds 1 change (4.0 MiB) not yet on the remote; send them with "
                    ), "\(changed)")
                #expect(changed.errors.contains("`apus forget --discard \(state)`"))
                try Files.write([1], to: state + "/letter.txt")
                let foreign = try place.run("forget", "--discard", state)
                #expect(foreign.status == 1)
                #expect(foreign.errors.contains("such as \"letter.txt\""), "\(foreign)")
                try Files.unlink(state + "/letter.txt")

                try place.mount(rate: nil)
                try place.require("sync", place.point)
                try place.require("unmount", place.point)
                try Files.makeDirectory(state + "/lost+found")
                try Files.write([1], to: state + "/lost+found/7-old")
                let lost = try place.run("forget", state)
                #expect(lost.status == 1)
                #expect(
                    lost.errors.contains("it holds 1 file without a place in lost+found"), "\(lost)"
                )
                let output = try place.require("forget", "--discard", state)
                #expect(output.hasPrefix("Removed \(state), and with it 1 file without a place"))
                #expect(!Files.exists(state))
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func `that another process holds are not forgotten`() throws {
            try DefaultPlace.with { place in
                try place.mount(rate: nil)
                try place.require("unmount", place.point)
                let state = try place.listed().stateDirectory
                let lock = open("\(state)/lock", O_RDWR | O_CLOEXEC)
                try CallError.check(flock(lock, LOCK_EX), "flock \(state)/lock")
                let refusal = try place.run("forget", "--discard", state)
                close(lock)
                #expect(refusal.status == 1)
                #expect(refusal.errors.contains(" uses it for \"\(place.point)\""), "\(refusal)")
                try place.require("forget", state)
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func `are not taken for such because of their files`() throws {
            try DefaultPlace.with { place in
                let mine = "\(place.base)/mine"
                try Program.require("mkdir", "-m", "700", mine)
                for name in ["state.sqlite", "lock"] {
                    try Files.write(Array("mine".utf8), to: "\(mine)/\(name)")
                }
                let refusal = try place.run("forget", "--discard", mine)
                #expect(refusal.status == 1)
                #expect(refusal.errors.contains("it is not the state of a mount"), "\(refusal)")
                #expect(try Files.names(in: mine).sorted() == ["lock", "state.sqlite"])
            }
        }

        /// Goal: a removal that was killed is recognised, and finished by the next one.
        ///
        /// Method: the name that it gets first, with some of the files removed, as a kill leaves it.
        @Test(.timeLimit(.minutes(2)))
        func `half removed are not listed or mounted, and removed by the next apus forget`() throws
        {
            try DefaultPlace.with { place in
                try place.mount(rate: nil)
                try place.require("unmount", place.point)
                let state = try place.listed().stateDirectory
                let marked = state + ".forgotten"
                try Program.require("mv", state, marked)
                try Files.unlink("\(marked)/state.sqlite")
                #expect(try !place.isListed)
                try Program.require("mkdir", "-m", "700", "\(place.base)/other.forgotten")
                let mount = try place.run(
                    "mount", place.plainSource, place.point, "--state-dir",
                    "\(place.base)/other.forgotten")
                #expect(mount.status == 1)
                #expect(mount.errors.contains("choose a name without .forgotten"), "\(mount)")
                #expect(try place.run("forget", "\(place.base)/none").status == 1)
                #expect(!Files.exists(marked))

                let elsewhere = "\(place.base)/elsewhere"
                try place.require("mount", place.plainSource, place.point, "--state-dir", elsewhere)
                try place.require("unmount", place.point)
                try Program.require("mv", elsewhere, elsewhere + ".forgotten")
                #expect(try place.require("forget", elsewhere).contains("interrupted removal"))
                #expect(!Files.exists(elsewhere + ".forgotten"))
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func `are kept by apus umount, which is apus unmount`() throws {
            try DefaultPlace.with { place in
                try place.mount(rate: nil)
                try place.write(100)
                #expect(
                    try place.require("umount", place.point).hasPrefix(
                        "Everything is on the remote"))
                #expect(try place.listed().pending == 0)
            }
        }
    }
}

/// A mount of a folder with its state in the default place.
private struct DefaultPlace {
    /// The parts of the output of `apus states --json` that these tests use.
    struct Listed: Decodable {
        var stateDirectory: String
        var source: String?
        var mountPoint: String?
        var lastMountPoint: String?
        var dead: Bool?
        /// nil of another test's state that goes away meanwhile.
        var bytesOnDisk: Int?
        var pending: Int?
        var pendingBytes: Int?
    }

    let base: String

    var point: String { "\(base)/mount" }
    var remote: String { "\(base)/remote" }
    var plainSource: String { "folder:\(remote)" }
    private var environment: [String: String] { ["XDG_STATE_HOME": "\(base)/xdg", "HOME": base] }

    static func with(_ body: (DefaultPlace) throws -> Void) throws {
        let place = DefaultPlace(base: try Files.makeTemporaryDirectory("s"))
        defer { place.remove() }
        for path in [place.point, place.remote] { try Files.makeDirectory(path) }
        try body(place)
    }

    /// - Parameter rate: By default, too slow for what the tests write.
    func mount(rate: String? = "16KiB") throws {
        try require("mount", plainSource + (rate.map { "?rate=\($0)" } ?? ""), point)
    }

    func write(_ count: Int) throws {
        try Files.write(TestBytes.random(count, seed: 3), to: "\(point)/new")
    }

    func run(_ arguments: String...) throws -> Program.Result {
        try Apus.run(arguments, environment: environment)
    }

    @discardableResult
    func require(_ arguments: String...) throws -> String {
        let result = try Apus.run(arguments, environment: environment)
        try #require(result.status == 0, "\(result)")
        return result.output
    }

    func text() throws -> String { try require("states") }

    /// Its state, among those of other tests.
    func listed() throws -> Listed { try #require(try all().first { $0.isOf(self) }) }

    var isListed: Bool { get throws { try all().contains { $0.isOf(self) } } }

    private func all() throws -> [Listed] {
        try JSONDecoder().decode([Listed].self, from: Data(require("states", "--json").utf8))
    }

    /// All files with their bytes, except SQLite's own index of its log.
    func files(of state: Listed) throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: state.stateDirectory) {
            let path = "\(state.stateDirectory)/\(name)"
            guard try Files.status(path).st_mode & S_IFMT == S_IFREG, !name.hasSuffix("-shm") else {
                continue
            }
            files[name] = try Files.read(path)
        }
        return files
    }

    func killDaemon() throws {
        let lock = try Files.read("\(listed().stateDirectory)/lock")
        let text = String(decoding: lock, as: UTF8.self)
        let process = try #require(text.split(separator: "\n").first.flatMap { pid_t($0) })
        try CallError.check(kill(process, SIGKILL), "kill \(process)")
        try eventually("the daemon has ended") { !MountedFolder.isRunning(process) }
    }

    private func remove() {
        _ = try? run("unmount", "--now", point)
        _ = try? Program.run("fusermount3", "-uz", point)
        _ = try? Program.run("chattr", "-i", point)
        for state in (try? all())?.filter({ $0.isOf(self) }).map(\.stateDirectory) ?? [] {
            _ = try? Program.run("rm", "-rf", "--one-file-system", state, state + ".forgotten")
        }
        _ = try? Program.run("rm", "-rf", "--one-file-system", base)
    }
}

extension DefaultPlace.Listed {
    fileprivate func isOf(_ place: DefaultPlace) -> Bool {
        source?.hasPrefix(place.plainSource) == true
            || (mountPoint ?? lastMountPoint) == place.point
    }
}
