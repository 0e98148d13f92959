import Foundation
import Glibc
import TestBytes
import Testing

extension MountedTests {
    @Suite(.enabled(if: LoopDisk.canBeSmall, "a disk to be filled takes root and mkfs.ext4"))
    struct `A state directory on a small disk` {
        private static let megabyte = 1 << 20

        @Test(.timeLimit(.minutes(2)))
        func `drops what is on the remote to make room for what is written`() throws {
            try withSmallDisk { remote in
                for number in 0..<3 {
                    try Files.write(old(number), to: "\(remote)/old-\(number)")
                }
            } _: { folder, _ in
                for number in 0..<3 {
                    #expect(try Files.read(folder.local("old-\(number)")) == old(number))
                    #expect(try folder.state(of: "old-\(number)") == "local")
                }
                let new = TestBytes.random(30 * Self.megabyte, seed: 50)
                try Files.write(new, to: folder.local("new"))
                let states = try (0..<3).map { try folder.state(of: "old-\($0)") }
                #expect(Set(states) == ["local", "remote"], "no more than has to go: \(states)")
                #expect(try Files.read(folder.local("new")) == new)
                try folder.sync()
                #expect(try Files.read(folder.remote("new")) == new)
                for number in 0..<3 {
                    #expect(try Files.read(folder.local("old-\(number)")) == old(number))
                }
            }
        }

        /// Goal: a write that does not fit fails itself, so that whoever was told that a write
        /// succeeded can rely on it (I1, I2).
        @Test(.timeLimit(.minutes(10)))
        func `refuses the write that does not fit, keeps all others, and recovers`() throws {
            // Uploads, of which there are several at a time, have to be slower than the writes even on
            // a busy machine, since they make room.
            try withSmallDisk(source: "rate=128KiB") { folder, _ in
                var written: [String: [UInt8]] = [:]
                var full: String?
                for number in 0..<100 where full == nil {
                    let name = "file-\(number)"
                    let file = try OpenFile(folder.local(name), O_WRONLY | O_CREAT)
                    written[name] = []
                    full = try fill(file, of: name, &written)
                    // What was not refused by a write is not refused by a close either.
                    try file.close()
                }
                let last = try #require(full, "400 MiB of changes fitted onto a disk of 64 MiB")
                #expect(
                    try Files.status(folder.local(last)).st_size == written[last]?.count,
                    "a refused write leaves nothing")
                let report = try folder.report()
                #expect(report.counts.pending > 0)
                #expect(try Apus.run("status", folder.point).status == 0)
                // A file that was sent and evicted in the meantime needs room to be read.
                let here = try written.filter {
                    try !["remote", "partial"].contains(folder.state(of: $0.key))
                }
                #expect(here.count > 1 && here[last] != nil)
                for (name, bytes) in here {
                    #expect(try Files.read(folder.local(name)) == bytes, "\(name)")
                }

                // As uploads end there is room again, without anybody's doing.
                let more = TestBytes.random(4 * Self.megabyte, seed: 51)
                try writeOnceThereIsRoom(more, to: folder.local("more"))
                written["more"] = more
                try folder.sync()
                for (name, bytes) in written {
                    #expect(try Files.read(folder.remote(name)) == bytes, "\(name)")
                }
                #expect(try Files.names(in: folder.remote) == written.keys.sorted())
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `that others fill to the last block goes on once they make room`() throws {
            try withSmallDisk { folder, disk in
                let before = TestBytes.random(Self.megabyte, seed: 52)
                let file = try OpenFile(folder.local("open"), O_RDWR | O_CREAT)
                try file.write(before)
                try disk.fill()

                expectFailure(ENOSPC) { () throws(CallError) in
                    try file.write(before, at: before.count)
                }
                #expect(try file.readAll() == before)
                expectFailure(ENOSPC) { () throws(CallError) in
                    try Files.write(before, to: folder.local("another"))
                }
                #expect(try Apus.run("status", folder.point).status == 0)
                #expect(try Files.names(in: folder.point).contains("open"))

                try disk.clear()
                let after = TestBytes.random(Self.megabyte, seed: 53)
                try eventually("there is room again") {
                    do {
                        try file.write(after, at: before.count)
                        return true
                    } catch let error as CallError where error.code == ENOSPC {
                        return false
                    }
                }
                try file.close()
                try folder.sync()
                #expect(try Files.read(folder.remote("open")) == before + after)
            }
        }

        /// Goal: what makes room can always be done, however full others make the disk.
        ///
        /// Method: many evictions, so that the database needs more blocks than it may happen to have.
        @Test(.timeLimit(.minutes(3)))
        func `that others fill to the last block can be evicted from, and mounted`() throws {
            let small = (0..<100).map { "many/\($0)" }
            try withSmallDisk { remote in
                try Files.makeDirectory("\(remote)/many")
                for name in small { try Files.write([1, 2, 3], to: "\(remote)/\(name)") }
                for number in 0..<2 {
                    try Files.write(old(number), to: "\(remote)/old-\(number)")
                }
            } _: { folder, disk in
                for name in small { _ = try Files.read(folder.local(name)) }
                for number in 0..<2 { _ = try Files.read(folder.local("old-\(number)")) }
                try disk.fill()

                try folder.evict("many")
                #expect(try small.map(folder.state).allSatisfy { $0 == "remote" })
                try folder.evict("old-0")
                let new = TestBytes.random(Self.megabyte, seed: 54)
                try writeOnceThereIsRoom(new, to: folder.local("new"))
                try folder.sync()

                try disk.fill()
                try folder.killDaemon()
                try folder.remount()
                // Its bytes may have gone for the database's room.
                #expect(try Files.names(in: folder.point).contains("new"))
                try Files.unlink(folder.local("old-1"))
                try folder.sync()
                #expect(!Files.exists(folder.remote("old-1")))

                // An orderly end leaves the room whole, and nothing of the log.
                try disk.clear()
                // What is let through has found the database's room whole again.
                try writeOnceThereIsRoom(new, to: folder.local("newest"))
                try folder.unmount()
                try disk.fill()
                try folder.remount()
                #expect(try Files.names(in: folder.point).contains("new"))

                try disk.clear()
                try writeOnceThereIsRoom(new, to: folder.local("newer"))
                try folder.unmount()
                #expect(try Files.read(folder.remote("newer")) == new)
                let check = try Apus.run("check", folder.state)
                #expect(check.status == 0 && check.output.contains("in order."), "\(check)")
            }
        }

        private func writeOnceThereIsRoom(_ bytes: [UInt8], to path: String) throws {
            try eventually("there is room again", within: .seconds(60)) {
                do {
                    try Files.write(bytes, to: path)
                    return true
                } catch let error as CallError where error.code == ENOSPC {
                    return false
                }
            }
        }

        private func old(_ number: Int) -> [UInt8] {
            TestBytes.random(12 * Self.megabyte, seed: UInt64(60 + number))
        }

        /// Writes four megabytes, or until it is refused, piece by piece as programs do.
        ///
        /// - Returns: The name, if it was refused.
        private func fill(
            _ file: OpenFile, of name: String, _ written: inout [String: [UInt8]]
        ) throws -> String? {
            for piece in 0..<32 {
                let size = written[name]?.count ?? 0
                let bytes = TestBytes.random(128 << 10, seed: UInt64(size + piece))
                do {
                    try file.write(bytes, at: size)
                    written[name]? += bytes
                } catch {
                    #expect(error.code == ENOSPC, "\(error)")
                    return name
                }
            }
            return nil
        }

        private func withSmallDisk(
            source: String = "", populate: (_ remote: String) throws -> Void = { _ in },
            _ body: (MountedFolder, LoopDisk) throws -> Void
        ) throws {
            let disk = try LoopDisk(.ext4, mebibytes: 64)
            defer { disk.remove() }
            var options = MountedFolder.Options()
            options.stateParent = disk.path
            options.source = source
            try MountedFolder.with(options, populate: populate) { try body($0, disk) }
        }
    }
}
