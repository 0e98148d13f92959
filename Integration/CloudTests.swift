import Foundation
import Glibc
import TestBytes
import Testing

extension MountedTests {
    @Suite
    struct `Every kind of cloud` {
        private static let scripts = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "scripts").path(percentEncoded: false)
        private static let movie = TestBytes.random(3_000_001, seed: 1)
        private static let oddName = "F\u{fc}\u{df}e & 50% #1+2 'q' [a].txt"

        /// Goal: what people do with a folder is the same on every cloud, and is there again for a
        /// mount that knows nothing.
        @Test(.timeLimit(.minutes(4)), arguments: CloudKind.chosen)
        func `goes all the way there and back`(_ kind: CloudKind) async throws {
            var options = MountedFolder.Options()
            options.mount = ["--refresh", "1s"]
            try await kind.with(options) { cloud in
                var before = TreeSnapshot()
                try MountedFolder.with(cloud.options) { folder in
                    try make(folder, kind)
                    try settle(folder, cloud)
                    try change(folder)
                    try settle(folder, cloud)
                    try setDirectory(folder)
                    try settle(folder, cloud)
                    try readCold(folder)
                    try followOthers(folder, cloud)
                    before = try remounted(folder)
                    try expectContents(folder, cloud)
                }
                try MountedFolder.with(cloud.options) { folder in
                    try expectContents(folder, cloud)
                    try expectKept(before, by: folder, kind)
                }
            }
        }

        // MARK: What people do

        private func make(_ folder: MountedFolder, _ kind: CloudKind) throws {
            try Program.require(Self.scripts + "/make-photos", folder.local("Photos"), "3")
            try Files.makeDirectory(folder.local("album"))
            try Files.makeDirectory(folder.local("album/deep"))
            try Files.makeDirectory(folder.local("empty"))
            try Files.write(Array("first\n".utf8), to: folder.local("album/deep/notes.txt"))
            try Files.write(Self.movie, to: folder.local("album/movie.mov"))
            try Files.write([], to: folder.local("nothing"))
            for name in [Self.oddName, "gone", "old", "target", "data"] {
                try Files.write(Array("this is \(name)".utf8), to: folder.local(name))
            }
            try Files.setMode(0o600, of: folder.local("album/deep/notes.txt"))
            try Files.setMode(0o750, of: folder.local("album"))
            try Files.setModified(
                seconds: 1_000_000_000, nanoseconds: 123_456_789, of: folder.local("nothing"))
            if kind.keeps == .attributes { try Files.link("data", at: folder.local("link")) }
        }

        private func change(_ folder: MountedFolder) throws {
            let data = folder.local("data")
            let end = try OpenFile(data, O_WRONLY | O_APPEND)
            try end.append(Array(", and its end".utf8))
            try end.close()
            try CallError.check(truncate(folder.local("album/movie.mov"), 2_000_000), "truncate")
            let middle = try OpenFile(folder.local("album/movie.mov"), O_RDWR)
            try middle.write(Array("middle".utf8), at: 1_000_000)
            try middle.close()
            try Files.rename(folder.local("album"), to: folder.local("Album 2"))
            try Files.rename(folder.local("old"), to: folder.local("target"))
            try Files.rename(data, to: folder.local("Album 2/deep/data"))
            try Files.rename(folder.local("Album 2/deep/data"), to: data)
            try Files.unlink(folder.local("gone"))
            try Files.removeDirectory(folder.local("empty"))
            try Files.makeDirectory(folder.local("gone"))
        }

        /// Mode and time of a directory alone, as `tar` and `rsync` set them in the end.
        private func setDirectory(_ folder: MountedFolder) throws {
            let deep = folder.local("Album 2/deep")
            try Files.setMode(0o711, of: deep)
            try Files.setModified(seconds: 1_100_000_000, nanoseconds: 987_654_321, of: deep)
        }

        /// Everything is sent, and both sides hold the same.
        private func settle(_ folder: MountedFolder, _ cloud: Cloud) throws {
            try folder.sync()
            let report = try folder.report()
            #expect(report.counts.pending == 0 && report.items.isEmpty, "\(report)")
            try expectContents(folder, cloud)
        }

        /// Evicts everything and reads it again.
        private func readCold(_ folder: MountedFolder) throws {
            let before = try TreeSnapshot(of: folder.point)
            try Program.require(Apus.path, "evict", folder.point)
            #expect(try folder.state(of: "Album 2/movie.mov") == "remote")
            let file = try OpenFile(folder.local("Album 2/movie.mov"), O_RDONLY)
            #expect(try file.read(6, at: 1_000_000) == Array("middle".utf8))
            try file.close()
            let differences = try TreeSnapshot(of: folder.point).differences(from: before)
            #expect(differences == [], "read cold, against before")
            #expect(try folder.state(of: "Album 2/movie.mov") == "local")
        }

        private func followOthers(_ folder: MountedFolder, _ cloud: Cloud) throws {
            // As many bytes as before, which some clouds tell by the time alone.
            let bytes = Array("THIS IS target".utf8)
            try cloud.store(bytes, "target")
            try cloud.store(Array("of others".utf8), "Album 2/theirs")
            try eventually("their version is here", within: .seconds(30)) {
                try Files.holds(bytes, at: folder.local("target"))
            }
            try eventually("what they added is here", within: .seconds(30)) {
                try Files.holds(
                    Array("of others".utf8), at: folder.local("Album 2/theirs"))
            }
            try Files.write(Array("ours again".utf8), to: folder.local("target"))
            try settle(folder, cloud)
        }

        /// - Returns: What there is, before and after.
        private func remounted(_ folder: MountedFolder) throws -> TreeSnapshot {
            try Files.write(Array("unmount sends it".utf8), to: folder.local("last"))
            let before = try TreeSnapshot(of: folder.point)
            let inode = try Files.status(folder.local("last")).st_ino
            try folder.unmount()
            #expect(try Files.names(in: folder.point).isEmpty)
            try folder.mount()
            #expect(try TreeSnapshot(of: folder.point).differences(from: before) == [])
            #expect(try Files.status(folder.local("last")).st_ino == inode)
            return before
        }

        // MARK: What has to hold

        private func expectContents(
            _ folder: MountedFolder, _ cloud: Cloud,
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            var (here, there) = (try TreeContents(of: folder.point), try cloud.contents())
            // Each cloud has its own way to keep one.
            (here.nodes["link"], there.nodes["link"]) = (nil, nil)
            #expect(
                here.differences(from: there) == [], "the mount against the cloud",
                sourceLocation: sourceLocation)
            #expect(here.nodes.count >= 13, sourceLocation: sourceLocation)
        }

        /// Modes, times and links as far as the cloud has them.
        private func expectKept(
            _ before: TreeSnapshot, by folder: MountedFolder, _ kind: CloudKind
        ) throws {
            switch kind.keeps {
            case .nothing: return
            case .times:
                let modified = try Files.status(folder.local("nothing")).st_mtim
                #expect(modified.tv_sec == 1_000_000_000)
                #expect(modified.tv_nsec == 123_456_789)
                return
            case .attributes: break
            }
            // A listing need not tell all; what it lacks is asked for when it is looked at.
            try? eventually("all is as before") {
                try TreeSnapshot(of: folder.point).differences(from: before) == []
            }
            let now = try TreeSnapshot(of: folder.point)
            #expect(now.differences(from: before) == [], "a cold mount against the one before")
            #expect(try Files.linkTarget(folder.local("link")) == "data")
            #expect(try Files.status(folder.local("Album 2")).st_mode & 0o777 == 0o750)
            let deep = try Files.status(folder.local("Album 2/deep"))
            #expect(deep.st_mode & 0o777 == 0o711)
            #expect(deep.st_mtim.tv_sec == 1_100_000_000)
            #expect(deep.st_mtim.tv_nsec == 987_654_321)
        }
    }
}
