import Foundation
import Glibc
import Testing

extension MountedTests {
    /// Goal: `df` shows of a mount what it shows of the disk behind it.
    ///
    /// Method: a fifth of the disk is kept for root, so that what is free is not what may be taken.
    @Suite(
        .timeLimit(.minutes(2)),
        .enabled(if: LoopDisk.canBeSmall, "a disk of one's own takes root and mkfs.ext4"))
    struct `Space on the remote` {
        @Test func `is used, free and available as on a folder's disk`() throws {
            let disk = try LoopDisk(.ext4, mebibytes: 64, percentForRoot: 20)
            defer { disk.remove() }
            var options = MountedFolder.Options()
            options.remoteParent = disk.path
            try expectSpace(of: disk, options)
        }

        @Test func `is used, free and available as rclone tells`() throws {
            let disk = try LoopDisk(.ext4, mebibytes: 64, percentForRoot: 20)
            defer { disk.remove() }
            let remotes = try RcloneRemotes()
            defer { remotes.remove() }
            try remotes.add("[disk]\ntype = alias\nremote = \(disk.path)")
            var options = MountedFolder.Options()
            options.otherSource = "rclone:disk:"
            options.environment = remotes.environment
            try expectSpace(of: disk, options)
        }

        private func expectSpace(of disk: LoopDisk, _ options: MountedFolder.Options) throws {
            try disk.occupy(mebibytes: 16)
            let there = try Space(at: disk.path)
            // The mount counts in blocks of 4 KiB, and there is a directory more or less.
            let slack = 64 << 10
            try MountedFolder.with(options) { folder in
                try eventually("the remote has told its space", within: .seconds(60)) {
                    abs(try Space(at: folder.point).total - there.total) < slack
                }
                let here = try Space(at: folder.point)
                #expect(abs(here.used - there.used) < slack, "\(here) \(there)")
                #expect(abs(here.available - there.available) < slack, "\(here) \(there)")
                #expect(there.total - there.available - there.used > 10 << 20, "\(there)")
            }
        }
    }
}

/// In bytes, as `df` shows it.
private struct Space {
    let total: Int
    let used: Int
    let available: Int

    init(at path: String) throws {
        let text = try Program.require("df", "-B1", "--output=size,used,avail", path)
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        try #require(numbers.count == 3, Comment(rawValue: text))
        (total, used, available) = (numbers[0], numbers[1], numbers[2])
    }
}
