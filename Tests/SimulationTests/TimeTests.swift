import Simulation
import Testing

@testable import Engine

/// Times set by programs, as by `cp -p`, `tar` and `rsync -t`.
@Suite("Times that programs set")
struct TimeTests {
    private static let time = Timestamp(seconds: 1_000_000_000)

    /// POSIX: `open` with `O_TRUNC` marks the times of an empty file too.
    @Test func `an empty file that is opened to be emptied has a new time`() throws {
        try Scenario.run { it in
            try await it.write("stamp", [])
            let inode = try await it.find("stamp")
            try it.setTime(Self.time, of: inode)
            #expect(try await it.rest())
            let before = try it.engine.attributes(of: inode)
            #expect(before.modified == Self.time)
            try await it.wait(.seconds(1))
            let engine = it.engine
            try await engine.retrying { () throws(Blocked) in
                try engine.open(inode, access: .write, truncating: true)
            }
            engine.release(inode, access: .write)
            let after = try engine.attributes(of: inode)
            #expect(after.modified > before.changed && after.changed > before.changed)
            #expect(try await it.rest())
            #expect(it.remote.attributes()[Scenario.key("stamp")]?.modified == after.modified)
        }
    }

    /// Goal: a time that was set survives a kill, even while the file is open (I1).
    @Test(arguments: [false, true])
    func `the time of a new file that is still open`(isWritten: Bool) throws {
        try Scenario.run { it in
            _ = try await it.names(in: "")
            it.remote.setReachable(false)
            try await it.write("a", isWritten ? [] : [1, 2, 3])
            let inode = try await it.find("a")
            try await it.open(inode)
            if isWritten { try await it.write([1, 2, 3], at: 0, of: inode) }
            try it.setTime(Self.time, of: inode)
            await it.mount.kill()
            try it.mount.start()
            #expect(try it.engine.attributes(of: inode).modified == Self.time)
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remote.attributes()[Scenario.key("a")]?.modified == Self.time)
        }
    }

    enum End: CaseIterable { case close, kill, powerCut }

    /// Goal: `tar x`, which sets the time and the owner of each file before its close, costs no commits for them.
    @Test(arguments: End.allCases)
    func `the time and the owner of a file that is being written, without a commit`(end: End) throws
    {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(settings: settings) { it in
            _ = try await it.names(in: "")
            let inode = try await it.beginWriting("a")
            let before = try it.engine.attributes(of: inode)
            try await it.wait(.seconds(1))
            let commits = it.engine.store.commitCount
            var change = AttributeChange()
            change.modified = .at(Self.time)
            change.userID = before.userID
            change.groupID = before.groupID
            change.clearsSetID = true
            let changed = try it.engine.setAttributes(of: inode, to: change)
            #expect(it.engine.store.commitCount == commits)
            #expect(changed.modified == Self.time && changed.changed > before.changed)
            #expect(try it.engine.attributes(of: inode) == changed)
            switch end {
            case .close: it.engine.release(inode, access: .write)
            case .kill: await it.mount.kill()
            case .powerCut:
                try it.engine.synchronize(inode)
                await it.mount.cutPower()
            }
            if end != .close { try it.mount.start() }
            let after = try it.engine.attributes(of: inode)
            #expect(after.modified == Self.time)
            if end != .powerCut { #expect(after.changed >= changed.changed) }
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remote.attributes()[Scenario.key("a")]?.modified == Self.time)
        }
    }

    /// Goal: its content file need not have reached the disk, so that its time may be older.
    @Test(arguments: 1...12)
    func `the time of a file that is open and was not written, after a power cut`(
        seed: UInt64
    ) throws {
        let time = Timestamp(seconds: 4_000_000_000)
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(seed: seed, settings: settings) { it in
            _ = try await it.names(in: "")
            try await it.write("a", [1, 2, 3])
            #expect(try await it.rest())
            // Its bytes are on the disk then; otherwise it becomes the remote's version.
            try await it.wait(.seconds(11))
            let inode = try await it.find("a")
            try await it.open(inode)
            try it.setTime(time, of: inode)
            try it.engine.store.synchronize()
            await it.mount.cutPower()
            try it.mount.start()
            #expect(try it.engine.attributes(of: inode).modified == time)
            #expect(try await it.rest())
            #expect(it.remote.attributes()[Scenario.key("a")]?.modified == time)
        }
    }

    /// Goal: a close that the disk refuses to record takes neither the bytes nor the time of the file.
    @Test(arguments: [false, true])
    func `the time of a file whose close could not be recorded`(isWrittenAgain: Bool) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(settings: settings) { it in
            _ = try await it.names(in: "")
            let inode = try await it.beginWriting("a")
            try it.setTime(Self.time, of: inode)
            it.mount.setDiskFaults(DiskFaultPlan(.full, after: 0, count: .max))
            it.engine.release(inode, access: .write)
            #expect(try it.engine.store.read { try $0.existingInode(inode).isWriting })
            it.mount.setDiskFaults(DiskFaultPlan())
            if isWrittenAgain {
                try await it.open(inode)
                it.engine.release(inode, access: .write)
            }
            it.remote.setReachable(true)
            #expect(try await it.rest())
            let attributes = try it.engine.attributes(of: inode)
            #expect(attributes.modified == Self.time && attributes.size == 3)
            #expect(it.remote.attributes()[Scenario.key("a")]?.modified == Self.time)
        }
    }

    @Test func `a mode of a file that is being written survives a kill`() throws {
        try Scenario.run { it in
            _ = try await it.names(in: "")
            let inode = try await it.beginWriting("a")
            var change = AttributeChange()
            change.mode = 0o4750
            change.modified = .at(Self.time)
            _ = try it.engine.setAttributes(of: inode, to: change)
            change = AttributeChange()
            change.clearsSetID = true
            _ = try it.engine.setAttributes(of: inode, to: change)
            await it.mount.kill()
            try it.mount.start()
            let attributes = try it.engine.attributes(of: inode)
            #expect(attributes.mode == 0o750)
            #expect(attributes.modified == Self.time)
        }
    }

    @Test func `the time of a file that is opened for writing afterwards`() throws {
        try Scenario.run { it in
            _ = try await it.names(in: "")
            it.remote.setReachable(false)
            try await it.write("a", [1, 2, 3])
            let inode = try await it.find("a")
            try it.setTime(Self.time, of: inode)
            try await it.open(inode)
            await it.mount.kill()
            try it.mount.start()
            #expect(try it.engine.attributes(of: inode).modified == Self.time)
        }
    }

    @Test func `the time of an open file while the rest is fetched`() throws {
        try Scenario.run { remote in
            try remote.otherClientWrites(
                Scenario.key("a"), [UInt8](repeating: 7, count: 200_000))
        } _: { it in
            let inode = try await it.find("a")
            try await it.open(inode)
            try await it.write([1, 2, 3], at: 100_000, of: inode)
            try it.setTime(Self.time, of: inode)
            _ = try await it.read("a")
            await it.mount.kill()
            try it.mount.start()
            #expect(try it.engine.attributes(of: inode).modified == Self.time)
        }
    }

    @Test func `the time of a directory, until something changes in it`() throws {
        try Scenario.run { remote in
            try remote.otherClientMakesDirectory(Scenario.key("d"))
        } _: { it in
            let directory = try await it.find("d")
            _ = try await it.names(in: "d")
            try it.setTime(Self.time, of: directory)
            #expect(try await it.rest())
            #expect(it.remote.attributes()[Scenario.key("d")]?.modified == Self.time)
            try await it.write("d/file", [1])
            #expect(try await it.rest())
            #expect(try it.engine.attributes(of: directory).modified != Self.time)
            #expect(
                it.remote.attributes()[Scenario.key("d")]?.modified == Self.time,
                "automatic changes are not sent")
        }
    }

    /// Goal: `tar -c` finds each directory as it was before it was read.
    @Test(arguments: [true, false])
    func `the times of a directory when it is first listed`(isRoot: Bool) throws {
        let path = isRoot ? "" : "d/"
        try Scenario.run { remote in
            try remote.otherClientMakesDirectory(Scenario.key("d"))
            for index in 0..<250 {
                try remote.otherClientWrites(Scenario.key("\(path)\(index)"), [1])
            }
        } _: { it in
            let directory = isRoot ? .root : try await it.find("d")
            let before = try it.engine.attributes(of: directory)
            try await it.wait(.seconds(5))
            let names = try await it.names(in: isRoot ? "" : "d")
            #expect(names.count >= 250, "in several pages")
            let after = try it.engine.attributes(of: directory)
            #expect(after.modified == before.modified)
            #expect(after.changed == before.changed)
        }
    }

    /// Goal: a listing without news changes no time; news do, and so does a program's own change.
    @Test func `the times of a directory when it is listed again`() throws {
        try Scenario.run { remote in
            try remote.otherClientMakesDirectory(Scenario.key("d"))
            for index in 0..<250 {
                try remote.otherClientWrites(Scenario.key("d/\(index)"), [1])
            }
        } _: { it in
            let directory = try await it.find("d")
            _ = try await it.names(in: "d")
            let before = try it.engine.attributes(of: directory)
            try await it.wait(.seconds(5))
            try await it.refresh("d")
            #expect(try it.engine.attributes(of: directory) == before)
            try it.remote.otherClientWrites(Scenario.key("d/new"), [1])
            try await it.refresh("d")
            let later = try it.engine.attributes(of: directory)
            #expect(later.modified > before.modified && later.changed > before.changed)
            try await it.wait(.seconds(5))
            try await it.unlink("d/new")
            #expect(try it.engine.attributes(of: directory).changed > later.changed)
        }
    }

    /// Goal: a time that was set arrives although the first request for it did not, or its answer.
    @Test func `the time of a directory after a kill`() throws {
        let requests = 30
        for count in 1...requests {
            try Scenario.run(seed: UInt64(count)) { remote in
                try remote.otherClientMakesDirectory(Scenario.key("d"))
            } _: { it in
                let directory = try await it.find("d")
                try it.setTime(Self.time, of: directory)
                try await it.wait(.milliseconds(1_000 + Int64(count) * 4))
                await it.mount.kill()
                try it.mount.start()
                #expect(try await it.rest())
                #expect(it.remote.attributes()[Scenario.key("d")]?.modified == Self.time)
            }
        }
    }

    @Test func `the time of a symbolic link, set before and after it was sent`() throws {
        try Scenario.run { it in
            let link = try await it.makeSymlink("link")
            try it.setTime(Self.time, of: link)
            #expect(try await it.rest())
            #expect(it.remote.attributes()[Scenario.key("link")]?.modified == Self.time)
            let later = Timestamp(nanoseconds: Self.time.nanoseconds + 1)
            try it.setTime(later, of: link)
            #expect(try await it.rest())
            #expect(it.remote.attributes()[Scenario.key("link")]?.modified == later)
            #expect(
                it.remote.snapshot()[Scenario.key("link")] == .symlink(target: Array("to".utf8)))
        }
    }

    /// Goal: `cp -a` sets it right after creating the link, before or after its upload.
    @Test func `the time of a symbolic link after a kill`() throws {
        let requests = 30
        for count in 1...requests {
            try Scenario.run(seed: UInt64(count)) { it in
                _ = try await it.names(in: "")
                let link = try await it.makeSymlink("link")
                if count.isMultiple(of: 2) { #expect(try await it.rest()) }
                try it.setTime(Self.time, of: link)
                try await it.wait(.milliseconds(1_000 + Int64(count) * 4))
                await it.mount.kill()
                try it.mount.start()
                #expect(try await it.rest())
                #expect(
                    it.remote.attributes()[Scenario.key("link")]?.modified == Self.time, "\(count)")
                #expect(try it.engine.attributes(of: link).modified == Self.time)
            }
        }
    }

    @Test func `the time of a symbolic link that another client sets`() throws {
        try Scenario.run { it in
            let link = try await it.makeSymlink("link")
            #expect(try await it.rest())
            try it.remote.otherClientSetsHeaders(
                of: Scenario.key("link"), mode: 0o777, modified: Self.time)
            try await it.refresh()
            #expect(try it.engine.attributes(of: link).modified == Self.time)
        }
    }
}

extension Scenario {
    /// Writes to a new file, which stays open, while the remote is out of reach.
    fileprivate func beginWriting(_ name: String) async throws -> InodeNumber {
        remote.setReachable(false)
        try await write(name, [])
        let inode = try await find(name)
        try await open(inode)
        try await write([1, 2, 3], at: 0, of: inode)
        return inode
    }

    func setTime(_ time: Timestamp, of inode: InodeNumber) throws {
        var change = AttributeChange()
        change.modified = .at(time)
        _ = try engine.setAttributes(of: inode, to: change)
    }
}
