import Foundation
import Glibc
import TestBytes
import Testing

extension MountedTests {
    @Suite
    struct `git` {
        /// Goal: a repository in the mount is as good as on a disk: while it is worked in, on the
        /// remote, and when nothing of it is here any more.
        @Test(.timeLimit(.minutes(3)))
        func `works in a clone that is sound on the remote and from a cold cache`() throws {
            try MountedFolder.with { folder in
                let origin = "\(folder.base)/origin"
                try makeOrigin(origin)
                let clone = folder.local("clone")
                try Program.require("git", "clone", "-q", "--no-hardlinks", origin, clone)
                #expect(try git(clone, "status", "--porcelain") == "")

                for number in 0..<3 {
                    try Files.write(
                        TestBytes.random(5000, seed: UInt64(number)),
                        to: "\(clone)/added-\(number)")
                    try Files.write(
                        Array("changed \(number)\n".utf8), to: "\(clone)/directory/file-\(number)")
                    let status = try git(clone, "status", "--porcelain")
                    #expect(
                        Set(status.split(separator: "\n")) == [
                            " M directory/file-\(number)", "?? added-\(number)",
                        ])
                    try git(clone, "add", "--all")
                    try git(clone, "commit", "-q", "-m", "Change \(number)")
                }
                try git(clone, "checkout", "-q", "-b", "branch", "HEAD~1")
                try git(clone, "rm", "-q", "-r", "directory")
                try git(clone, "commit", "-q", "-m", "Remove")
                try git(clone, "checkout", "-q", "-")
                try git(clone, "gc", "-q")
                #expect(try git(clone, "fsck", "--strict", "--full") == "")
                #expect(try git(clone, "status", "--porcelain") == "")
                let head = try git(clone, "rev-parse", "HEAD")

                // Packing removes as much at once as a mistake might.
                try Program.require(Apus.path, "confirm-deletions", folder.point)
                try folder.sync()
                let remote = folder.remote("clone")
                #expect(try git(remote, "fsck", "--strict", "--full") == "")
                #expect(try git(remote, "rev-parse", "HEAD") == head)
                try expectEqualTrees(folder)

                try folder.evict("clone")
                #expect(try folder.state(of: "clone/added-0") == "remote")
                #expect(try git(clone, "fsck", "--strict", "--full") == "")
                #expect(try git(clone, "status", "--porcelain") == "")
                #expect(try git(clone, "rev-parse", "HEAD") == head)
                #expect(
                    try git(clone, "log", "--format=%s").split(separator: "\n")
                        == ["Change 2", "Change 1", "Change 0", "Begin"])
            }
        }

        private func makeOrigin(_ path: String) throws {
            try Program.require("git", "init", "-q", path)
            try Files.makeDirectory(path + "/directory")
            for number in 0..<30 {
                try Files.write(
                    Array(String(repeating: "line \(number)\n", count: number + 1).utf8),
                    to: "\(path)/directory/file-\(number)")
            }
            try Files.link("directory/file-1", at: path + "/link")
            try Files.write(Array("#!/bin/sh\n".utf8), to: path + "/program")
            try Files.setMode(0o755, of: path + "/program")
            try git(path, "add", "--all")
            try git(path, "commit", "-q", "-m", "Begin")
        }

        /// - Returns: What it printed.
        @discardableResult
        private func git(
            _ repository: String, _ arguments: String...,
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws -> String {
            let command =
                [
                    "git", "-C", repository, "-c", "user.name=A", "-c", "user.email=a@example.org",
                    "-c", "safe.directory=*", "-c", "gc.auto=0",
                ] + arguments
            let result = try Program.start(command).wait()
            try #require(result.status == 0, "\(result)", sourceLocation: sourceLocation)
            return result.output
        }
    }
}
