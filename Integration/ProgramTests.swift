import Foundation
import Glibc
import Testing

extension MountedTests {
    @Suite
    struct `Real programs` {
        @Test(.timeLimit(.minutes(3)))
        func `cp -a brings a tree in and rm -r takes it out`() throws {
            try MountedFolder.with { folder in
                let original = "\(folder.base)/original"
                try makeTree(at: original)
                try Program.require("cp", "-a", original, folder.local("copy"))
                #expect(
                    try TreeSnapshot(of: folder.local("copy")).differences(
                        from: TreeSnapshot(of: original)) == [])
                try folder.sync()
                #expect(
                    try TreeSnapshot(of: folder.remote("copy")).differences(
                        from: TreeSnapshot(of: original)) == [])

                try Program.require("rm", "-r", folder.local("copy"))
                try folder.sync()
                #expect(try Files.names(in: folder.remote).isEmpty)
            }
        }

        @Test(.timeLimit(.minutes(3)))
        func `tar, sed -i, dd and find work as on any disk`() throws {
            try MountedFolder.with { folder in
                let original = "\(folder.base)/original"
                try makeTree(at: original)
                try Program.require(
                    "tar", "-cf", folder.local("tree.tar"), "-C", folder.base, "original")
                try Program.require("tar", "-xf", folder.local("tree.tar"), "-C", folder.point)
                try Program.require("diff", "-r", original, folder.local("original"))
                try Program.require(
                    "sed", "-i", "s/number/No./", folder.local("original/7/file-3"))
                try Program.require(
                    "dd", "if=/dev/zero", "of=\(folder.local("zeros"))", "bs=64K", "count=40",
                    "conv=fsync")
                let found = try Program.require("find", folder.point, "-name", "file-*")
                #expect(found.split(separator: "\n").count == 60)
                try Program.require("df", folder.point)

                try folder.sync()
                try expectEqualTrees(folder)
            }
        }

        /// Goal: a tree of which nothing is known yet is archived without "file changed as we read it".
        @Test(.timeLimit(.minutes(3)))
        func `tar -c of a tree that was never read`() throws {
            try MountedFolder.with { remote in
                try makeTree(at: "\(remote)/tree")
                for number in 0..<20 {
                    try Files.makeDirectory("\(remote)/tree/8/sub-\(number)")
                    try Files.write([1], to: "\(remote)/tree/8/sub-\(number)/file")
                }
            } _: { folder in
                let archive = "\(folder.base)/tree.tar"
                try Program.require(
                    "tar", "--format=posix", "-cf", archive, "-C", folder.point, ".")
                let unpacked = "\(folder.base)/unpacked"
                try Files.makeDirectory(unpacked)
                try Program.require("tar", "-xf", archive, "-C", unpacked)
                #expect(
                    try TreeSnapshot(of: "\(unpacked)/tree").differences(
                        from: TreeSnapshot(of: folder.remote("tree"))) == [])
            }
        }

        /// Six directories of ten files each, with modes, times and links.
        private func makeTree(at root: String) throws {
            try Files.makeDirectory(root)
            for directory in 5..<11 {
                let path = "\(root)/\(directory)"
                try Files.makeDirectory(path)
                for number in 0..<10 {
                    let file = "\(path)/file-\(number)"
                    let line = "number \(number) in \(directory)\n"
                    try Files.write(
                        Array(String(repeating: line, count: 1 + number * 40).utf8), to: file)
                    try Files.setMode(mode_t(0o600 | number), of: file)
                    try Files.setModified(
                        seconds: 1_600_000_000 + number, nanoseconds: number, of: file)
                }
                try Files.link("file-1", at: path + "/link")
            }
        }
    }
}
