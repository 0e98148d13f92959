import Foundation
import Glibc
import TestBytes
import Testing

extension MountedTests {
    @Suite
    struct `A store that refuses` {
        private static let bytes = TestBytes.random(50_000, seed: 41)

        @Test(.timeLimit(.minutes(2)))
        func `is shown by fsync, status and sync, holds up nothing else, and is tried again`()
            throws
        {
            try MountedFolder.with { remote in
                try Files.makeDirectory(remote + "/closed")
                try Files.makeDirectory(remote + "/open")
            } _: { folder in
                try Files.forbidChanges(in: folder.remote("closed"))
                defer { try? Files.allowChanges(in: folder.remote("closed")) }
                let file = try OpenFile(folder.local("closed/refused"), O_RDWR | O_CREAT)
                try file.write(Self.bytes)
                try file.synchronize()
                try Files.write([1, 2, 3], to: folder.local("open/accepted"))

                try expectRefusedSync(folder, of: "closed/refused")
                #expect(try Files.read(folder.remote("open/accepted")) == [1, 2, 3])
                try expectTold(folder, "closed/refused")
                expectFailure(EACCES) { () throws(CallError) in try file.synchronize() }
                try file.synchronize()
                try file.write([9], at: 0)
                try file.close()
                try expectRefusedSync(folder, of: "closed/refused")
                var expected = Self.bytes
                expected[0] = 9
                #expect(try Files.read(folder.local("closed/refused")) == expected)
                #expect(try Files.names(in: folder.remote("closed")).isEmpty)

                try Files.allowChanges(in: folder.remote("closed"))
                try expectRecovery(folder, of: "closed/refused", to: expected)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `to remove or rename keeps both under way, and shows them`() throws {
            try MountedFolder.with { remote in
                try Files.makeDirectory(remote + "/closed")
                for name in ["removed", "renamed"] {
                    try Files.write(Array(name.utf8), to: "\(remote)/closed/\(name)")
                }
            } _: { folder in
                _ = try Files.names(in: folder.local("closed"))
                try Files.forbidChanges(in: folder.remote("closed"))
                defer { try? Files.allowChanges(in: folder.remote("closed")) }
                try Files.unlink(folder.local("closed/removed"))
                try Files.rename(folder.local("closed/renamed"), to: folder.local("here"))
                try Files.write([1], to: folder.local("other"))

                let sync = try Apus.run("sync", folder.point)
                #expect(sync.status == 1, "\(sync)")
                #expect(sync.output.contains("closed/removed"), "\(sync)")
                #expect(sync.output.contains("here"), "\(sync)")
                #expect(try Files.read(folder.remote("other")) == [1])
                #expect(try Files.names(in: folder.local("closed")).isEmpty)
                #expect(try Files.read(folder.local("here")) == Array("renamed".utf8))

                try Files.allowChanges(in: folder.remote("closed"))
                try eventually("it goes through by itself", within: .seconds(60)) {
                    try folder.report().counts.pending == 0
                }
                #expect(try Files.names(in: folder.remote("closed")).isEmpty)
                #expect(try Files.read(folder.remote("here")) == Array("renamed".utf8))
            }
        }

        @Test(
            .timeLimit(.minutes(2)),
            .enabled(if: LoopDisk.canBeSmall, "a disk to be filled takes root and mkfs.ext4"))
        func `for want of room takes what fits, and the rest once there is room`() throws {
            let disk = try LoopDisk(.ext4, mebibytes: 32)
            defer { disk.remove() }
            var options = MountedFolder.Options()
            options.remoteParent = disk.path
            let large = TestBytes.random(16 << 20, seed: 42)
            try MountedFolder.with(options) { folder in
                try disk.occupy(mebibytes: 16)
                let file = try OpenFile(folder.local("large"), O_RDWR | O_CREAT)
                try file.write(large)
                try file.synchronize()
                try Files.write(Self.bytes, to: folder.local("small"))

                try expectRefusedSync(folder, of: "large")
                #expect(try Files.read(folder.remote("small")) == Self.bytes)
                try expectTold(folder, "large")
                expectFailure(ENOSPC) { () throws(CallError) in try file.synchronize() }
                try file.synchronize()
                #expect(try file.readAll() == large)
                try file.close()
                // While it is tried again, there is one.
                try eventually("no temporary is left") {
                    try Files.names(in: folder.remote) == ["small"]
                }

                try disk.clear()
                try expectRecovery(folder, of: "large", to: large)
            }
        }

        /// The sync ends with 1, one line that says so, and names the file with the reason.
        private func expectRefusedSync(_ folder: MountedFolder, of name: String) throws {
            let sync = try Apus.run("sync", folder.point)
            #expect(sync.status == 1, "\(sync)")
            #expect(sync.output.contains("failed \(name): "), "\(sync)")
            #expect(sync.errors.contains("send everything to the remote"), "\(sync)")
        }

        /// `apus status` and the extended attribute say why, and what to do.
        private func expectTold(_ folder: MountedFolder, _ name: String) throws {
            let report = try folder.report()
            let error = try #require(report.item(name)?.error, "\(report)")
            let remedy = try #require(error.remedy, "\(error)")
            let text = try Program.require(Apus.path, "status", folder.local(name))
            #expect(text.contains("failed") && text.contains(remedy), "\(text)")
            let attribute = try #require(try folder.error(of: name))
            #expect(attribute.contains(error.why) && attribute.contains(remedy), "\(attribute)")
        }

        /// It reaches the remote without anybody asking for it.
        private func expectRecovery(
            _ folder: MountedFolder, of name: String, to bytes: [UInt8]
        ) throws {
            try eventually("\(name) goes through by itself", within: .seconds(60)) {
                Files.exists(folder.remote(name))
            }
            try eventually("nothing is pending") { try folder.report().counts.pending == 0 }
            #expect(try Files.read(folder.remote(name)) == bytes)
            #expect(try folder.error(of: name) == nil)
            #expect(try folder.report().items.isEmpty)
        }
    }
}
