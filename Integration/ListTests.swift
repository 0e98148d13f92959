import Foundation
import Glibc
import TestBytes
import Testing

extension MountedTests {
    @Suite
    struct `apus ls` {
        private struct Item: Decodable {
            var path: String
            var kind: String
            var state: String
            var bytes: Int
            var percent: Int?
        }

        private func lines(_ arguments: String...) throws -> [String] {
            let result = try Apus.run(["ls"] + arguments)
            try #require(result.status == 0, "\(result)")
            return result.output.split(separator: "\n").map { line in
                line.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
            }
        }

        private func items(_ path: String) throws -> [Item] {
            let output = try Program.require(Apus.path, "ls", "--json", path)
            return try JSONDecoder().decode([Item].self, from: Data(output.utf8))
        }

        @Test(.timeLimit(.minutes(2)))
        func `shows the state of each name, and lists an unlisted folder`() throws {
            let bytes = TestBytes.random(12 << 20, seed: 7)
            var options = MountedFolder.Options()
            options.source = "rate=4MiB"
            try MountedFolder.with(options) { remote in
                for name in ["far", "here"] { try Files.write([1, 2], to: "\(remote)/\(name)") }
                try Files.write(bytes, to: remote + "/half")
                try Files.makeDirectory(remote + "/sub")
                try Files.makeDirectory(remote + "/sub/deep")
                try Files.write([1], to: remote + "/sub/a\nb")
                try Files.write([], to: remote + "/sub/empty")
            } _: { folder in
                _ = try Files.read(folder.local("here"))
                let half = try OpenFile(folder.local("half"), O_RDONLY)
                _ = try half.read(4096)
                #expect(
                    Set(try lines(folder.point)) == [
                        "remote far", "local here", "partial half", "remote sub/",
                    ])
                try half.close()
                #expect(
                    Set(try lines(folder.local("sub"))) == [
                        "remote deep/", "remote 'a'$'\\n''b'", "local empty",
                    ])
                #expect(try lines(folder.point).contains("local sub/"))
                #expect(
                    try lines("-l", folder.local("far")).first?.hasPrefix("remote 2 B 2") == true)
                #expect(
                    try lines(folder.local("far"), folder.local("sub/deep")) == [
                        "\(folder.local("far")):", "remote \(folder.local("far"))",
                        "\(folder.local("sub/deep")):",
                    ])
                try Apus.expectRefusal("ls", folder.local("none"), naming: "none")

                try Files.write(bytes, to: folder.local("new"))
                #expect(try lines(folder.point).contains("dirty new"))
                try eventually("it is uploading, with its progress") {
                    let item = try items(folder.point).first { $0.path == "new" }
                    return item?.state == "uploading" && item?.percent != nil
                }
                try folder.sync()
                #expect(try items(folder.local("new")).map(\.state) == ["local"])
                #expect(
                    try items(folder.local("sub")).map(\.path).sorted() == [
                        "sub/a\nb", "sub/deep", "sub/empty",
                    ])
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `shows versions that lost their name as conflicts`() throws {
            try MountedFolder.with { remote in
                try Files.write([1], to: remote + "/plan")
            } _: { folder in
                #expect(try Files.read(folder.local("plan")) == [1])
                let file = try OpenFile(folder.local("plan"), O_WRONLY)
                try file.write([2], at: 0)
                try Files.replace(folder.remote("plan"), with: [3, 3])
                try file.close()
                try eventually("the conflict is seen") { try folder.report().counts.conflicts == 1 }
                let conflict = try #require(try folder.report().conflicts.first).path
                try folder.sync()
                #expect(try items(folder.point).first { $0.path == conflict }?.state == "conflict")
            }
        }

        /// Method: two names that the remote takes for one.
        @Test(.timeLimit(.minutes(2)))
        func `shows the files that cannot be sent as failed`() throws {
            var options = MountedFolder.Options()
            options.source = "names=caseless"
            try MountedFolder.with(options) { folder in
                try Files.write([1], to: folder.local("a"))
                try folder.sync()
                try Files.write([2], to: folder.local("A"))
                #expect(try Apus.run("sync", folder.point).status == 1)
                #expect(try Set(lines(folder.point)) == ["local a", "failed A"])
            }
        }

        /// Goal: a large folder comes in pages, each name once.
        @Test(.timeLimit(.minutes(3)))
        func `lists a folder of thousands of names`() throws {
            let names = (0..<3_500).map { "n\($0)" }
            try MountedFolder.with { remote in
                for name in names { try Files.write([], to: "\(remote)/\(name)") }
            } _: { folder in
                let listed = try items(folder.point).map(\.path)
                #expect(listed.sorted() == names.sorted())
                let lineCount = try lines(folder.point).count
                #expect(lineCount == names.count)
            }
        }
    }
}
