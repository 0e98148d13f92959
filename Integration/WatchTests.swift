import Foundation
import Glibc
import Synchronization
import Testing

extension MountedTests {
    /// Goal: programs learn of local and remote changes, each once, whatever is stopped in between.
    @Suite
    struct `A watch` {
        /// `apus watch --json` with its output in a file.
        private final class Watcher {
            private let program: Program
            private let path: String

            init(_ folder: MountedFolder, _ name: String, since cursor: String? = nil) throws {
                path = "\(folder.state)-\(name)"
                let words = ["sh", "-c", "exec \"$@\" > \"$0\"", path, Apus.path, "watch"]
                program = try Program.start(
                    words + [folder.point, "--json"] + (cursor.map { ["--since", $0] } ?? []))
                try eventually("the watch begins") { !lines.isEmpty }
            }

            /// The complete lines so far.
            private var lines: [Substring] {
                let data = (try? Data(contentsOf: URL(filePath: path))) ?? Data()
                return String(decoding: data, as: UTF8.self)
                    .split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            }

            var events: [[String: Any]] {
                get throws {
                    try lines.map {
                        let object = try JSONSerialization.jsonObject(with: Data($0.utf8))
                        return try #require(object as? [String: Any])
                    }
                }
            }

            /// The cursor after the last change that arrived.
            var cursor: String {
                get throws { try #require(try events.last?["cursor"] as? String) }
            }

            /// The paths of one kind of change, in order.
            func paths(of change: String) throws -> [String] {
                try events.filter { $0["change"] as? String == change }
                    .compactMap { $0["path"] as? String }
            }

            func kill() throws {
                program.killAll()
                _ = try program.wait()
            }

            func end() throws -> Program.Result { try program.wait() }
        }

        /// Method: two writers, one on the remote, while the watch is killed, and later the daemon.
        @Test(.timeLimit(.minutes(4)))
        func `resumed after its death, and the daemon's, misses none of 1,000 changes`() throws {
            try MountedFolder.with { folder in
                #expect(try Files.names(in: folder.point) == [])
                let first = try Watcher(folder, "first")
                var expected: Set<String> = []
                for number in 0..<500 {
                    try Files.makeDirectory(folder.local("local \(number)"))
                    try Files.write([1], to: folder.remote("remote \(number)"))
                    expected.formUnion(["local \(number)", "remote \(number)"])
                    if number == 200 { try first.kill() }
                }
                let second = try Watcher(folder, "second", since: first.cursor)
                try eventually("remote files are seen") {
                    try Files.names(in: folder.point).count == 1_000
                }
                try second.kill()
                try folder.killDaemon()
                try folder.remount()
                try Files.makeDirectory(folder.local("last"))
                let third = try Watcher(folder, "third", since: second.cursor)
                try eventually("the last change arrives") {
                    try third.paths(of: "created").contains("last")
                }
                let created = try [first, second, third].flatMap { try $0.paths(of: "created") }
                #expect(created.count == 1_001)
                #expect(Set(created) == expected.union(["last"]))
                try third.kill()
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `tells what was uploaded, and ends with the mount`() throws {
            try MountedFolder.with { folder in
                let watcher = try Watcher(folder, "only")
                try Files.write([1, 2, 3], to: folder.local("a"))
                try eventually("the upload is told") {
                    try watcher.paths(of: "uploaded") == ["a"]
                }
                #expect(try Files.read(folder.remote("a")) == [1, 2, 3])
                try folder.unmount()
                let result = try watcher.end()
                #expect(result.status == 1 && result.errors.contains("--since"), "\(result)")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `refuses a cursor that it does not know`() throws {
            try MountedFolder.with { folder in
                let result = try Apus.run("watch", folder.point, "--since", "abc.1")
                #expect(
                    result.status == 1 && result.errors.contains("not known any more"), "\(result)")
                let other = try Apus.run("watch", folder.point, "--since", "yesterday")
                #expect(other.status == 1 && other.errors.contains("no cursor"), "\(other)")
            }
        }
    }
}
