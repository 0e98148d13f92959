import Foundation
import Glibc
import Testing

extension MountedTests {
    /// Two states that were mounted at one place, the second of which lost its daemon.
    @Suite
    struct `A dead mount` {
        struct Scenario: CustomTestStringConvertible, Sendable {
            var isOrdinaryUser: Bool
            var hasOwnStateDirectory: Bool
            /// Whether `fusermount3 -u` has removed the dead mount.
            var isDetached: Bool

            var testDescription: String {
                (isOrdinaryUser ? "ordinary user" : "this user")
                    + (hasOwnStateDirectory ? ", --state-dir" : "")
                    + (isDetached ? ", detached" : "")
            }

            static let all = [true, false].flatMap { isOrdinaryUser in
                [false, true].flatMap { hasOwnStateDirectory in
                    [false, true].map {
                        Scenario(
                            isOrdinaryUser: isOrdinaryUser,
                            hasOwnStateDirectory: hasOwnStateDirectory, isDetached: $0)
                    }
                }
            }
        }

        /// Goal: `apus unmount` never says that everything is on the remote because of another state,
        /// and `apus check` checks the right one.
        @Test(.timeLimit(.minutes(2)), arguments: Scenario.all)
        func `answers for its own state, not for an earlier one at that place`(
            _ scenario: Scenario
        ) throws {
            let place = try Place(isOrdinaryUser: scenario.isOrdinaryUser)
            defer { place.remove() }
            guard place.canRunApus else { return }
            try place.mount("first")
            try place.require("unmount", place.point)
            let first = try #require(place.states.first)

            let state = scenario.hasOwnStateDirectory ? "\(place.base)/own" : nil
            try place.mount("second", state: state)
            let second = try #require(state ?? place.states.first { $0 != first })
            try place.write(5 << 20, to: "\(place.point)/new")
            try place.killDaemon(of: second)
            if scenario.isDetached { try place.run("fusermount3", "-u", place.point) }

            let check = try place.apus("check", "--json", place.point)
            #expect(check.status == 0 && check.output.contains("\"\(second)\""), "\(check)")
            #expect(!check.output.contains(first), "\(check)")

            let result = try place.apus("unmount", place.point)
            #expect(result.status == 1, "\(result)")
            #expect(result.errors.contains("1 change (5.0 MiB) waits in \(second)"), "\(result)")
            #expect(!place.isProtected)

            try place.mount("second", state: state)
            try place.require("sync", place.point)
            #expect(try Files.status("\(place.base)/second/new").st_size == 5 << 20)
            try place.require("unmount", place.point)
        }

        @Test(.timeLimit(.minutes(2)))
        func `does not keep others from a sync`() throws {
            try MountedFolder.with { dead in
                try MountedFolder.with { living in
                    try dead.killDaemon()
                    try Files.write([1], to: living.local("new"))
                    let result = try Program.run(
                        Apus.path, "sync", dead.point, living.point, dead.point)
                    #expect(result.status == 1, "\(result)")
                    #expect(result.errors.contains("\(dead.point): it is dead"), "\(result)")
                    #expect(
                        result.output.contains("\(living.point): Everything is on the remote"),
                        "\(result)")
                    #expect(try Files.read(living.remote("new")) == [1])

                    // The trash of a dead mount is read from its state.
                    try Program.require(Apus.path, "trash", "list", dead.point)
                }
            }
        }

        @Test(.timeLimit(.minutes(2)), arguments: [false, true])
        func `without a state that can be determined is reported as such`(
            isDetached: Bool
        ) throws {
            let place = try Place(isOrdinaryUser: true)
            defer { place.remove() }
            guard place.canRunApus else { return }
            try place.mount("first")
            try place.require("unmount", place.point)
            let state = "\(place.base)/own"
            try place.mount("second", state: state)
            try place.killDaemon(of: state)
            if isDetached { try place.run("fusermount3", "-u", place.point) }
            try place.run("rm", "-rf", state)
            for command in ["check", "unmount"] {
                let result = try place.apus(command, place.point)
                #expect(result.status == 1 && result.errors.contains("not known"), "\(result)")
                #expect(!result.output.contains("Everything"), "\(result)")
            }
            #expect(!place.isProtected)
        }
    }
}

/// A mount point and two folders that play the cloud, all of one user.
private struct Place {
    let base: String
    let point: String
    /// nil for the user who runs the tests.
    private let user: OrdinaryUser?

    init(isOrdinaryUser: Bool) throws {
        base = try Files.makeTemporaryDirectory("d")
        point = "\(base)/mount"
        for name in ["mount", "first", "second", "xdg", "user"] {
            try Files.makeDirectory("\(base)/\(name)")
        }
        user = isOrdinaryUser ? try OrdinaryUser(directory: "\(base)/user") : nil
        guard let owner = user?.userID else { return }
        for path in [base, point, "\(base)/first", "\(base)/second", "\(base)/xdg"] {
            try CallError.check(chown(path, owner, owner), "chown \(path)")
        }
    }

    var canRunApus: Bool { user?.canRunApus ?? true }

    /// The states in the default place that were last mounted here.
    var states: [String] {
        let isRoot = user == nil && geteuid() == 0
        let parent = isRoot ? "/var/lib/apus" : "\(base)/xdg/apus"
        let paths = ((try? Files.names(in: parent)) ?? []).map { "\(parent)/\($0)" }
        return paths.filter { path in
            let lock = (try? Files.read("\(path)/lock")) ?? []
            return String(decoding: lock, as: UTF8.self).hasSuffix("\n\(point)\n")
        }
    }

    var isProtected: Bool {
        (try? Files.status(point).st_mode & 0o777) != 0o755
    }

    func mount(_ folder: String, state: String? = nil) throws {
        // Too slow for 5 MiB before the kill.
        try require(
            ["mount", "folder:\(base)/\(folder)?rate=2MiB", point]
                + (state.map { ["--state-dir", $0] } ?? []))
    }

    func apus(_ words: String...) throws -> Program.Result { try start([Apus.path] + words) }

    func require(_ words: String...) throws { try require(words) }

    func run(_ words: String...) throws {
        let result = try start(words)
        try #require(result.status == 0, "\(result)")
    }

    func write(_ count: Int, to path: String) throws {
        try run("sh", "-c", "head -c \(count) /dev/urandom > \"$0\"", path)
    }

    func killDaemon(of state: String) throws {
        let lock = String(decoding: try Files.read("\(state)/lock"), as: UTF8.self)
        let process = try #require(lock.split(separator: "\n").first.flatMap { pid_t($0) })
        try CallError.check(kill(process, SIGKILL), "kill \(process)")
        try eventually("the daemon has ended") { !MountedFolder.isRunning(process) }
    }

    func remove() {
        let states = states
        if (try? apus("unmount", "--now", point).status) != 0 {
            _ = try? start(["fusermount3", "-uz", point])
        }
        _ = try? Program.run("chattr", "-i", point)
        for path in states + [base] {
            _ = try? Program.run("rm", "-rf", "--one-file-system", path)
        }
    }

    private func require(_ words: [String]) throws {
        let result = try start([Apus.path] + words)
        try #require(result.status == 0, "\(result)")
    }

    private func start(_ words: [String]) throws -> Program.Result {
        let environment = ["XDG_STATE_HOME": "\(base)/xdg", "HOME": base]
        return try user?.run(words, environment: environment)
            ?? Program.start(words, environment: environment).wait()
    }
}
