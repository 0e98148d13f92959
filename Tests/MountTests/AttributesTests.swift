import CFuse
import Engine
import Glibc
import Testing

@testable import Mount

struct AttributesTests {
    @Test(arguments: [
        (Int64(0), 0, 0), (1, 0, 1), (1_000_000_000, 1, 0), (-1, -1, 999_999_999),
        (-1_000_000_000, -1, 0), (1_700_000_000_123_456_789, 1_700_000_000, 123_456_789),
    ])
    func `a time is whole seconds and the nanoseconds after them`(
        nanoseconds: Int64, seconds: Int, rest: Int
    ) {
        let time = Timestamp(nanoseconds: nanoseconds)
        #expect(time.timespec.tv_sec == seconds)
        #expect(time.timespec.tv_nsec == rest)
        #expect(Timestamp(time.timespec) == time)
    }

    @Test
    func `stat shows kind, permissions, owner, size and times`() {
        let status = attributes(.file, mode: 0o4755, size: 1025).status(ShownOwnership())
        #expect(status.st_ino == 42)
        #expect(status.st_mode == S_IFREG | 0o4755)
        #expect(status.st_nlink == 1)
        #expect(status.st_uid == 1000)
        #expect(status.st_gid == 100)
        #expect(status.st_size == 1025)
        #expect(status.st_mtim.tv_sec == 5)
        #expect(status.st_ctim.tv_sec == 6)
    }

    @Test(arguments: [(UInt64(0), 0), (1, 1), (512, 1), (513, 2), (1 << 40, 1 << 31)])
    func `no file looks sparse`(size: UInt64, blocks: Int) {
        #expect(attributes(.file, size: size).status(ShownOwnership()).st_blocks == blocks)
    }

    @Test
    func `kinds become file types`() {
        #expect(attributes(.directory).status(ShownOwnership()).st_mode & S_IFMT == S_IFDIR)
        #expect(attributes(.symlink).status(ShownOwnership()).st_mode & S_IFMT == S_IFLNK)
    }

    @Test
    func `another owner is shown for the one who mounts only`() {
        var ownership = ShownOwnership(stored: Caller(userID: 1000, groupID: 200))
        (ownership.userID, ownership.groupID) = (7, 8)
        let status = attributes(.file).status(ownership)
        #expect(status.st_uid == 7)
        #expect(status.st_gid == 100)
    }

    @Test(arguments: [
        (FileKind.file, UInt16(0o644), UInt32(0o002), mode_t(0o644)), (.file, 0o644, 0o077, 0o600),
        (.directory, 0o777, 0o002, 0o775), (.file, 0o4755, 0o027, 0o4750),
        (.symlink, 0o777, 0o077, 0o777), (.directory, 0o1755, 0, 0o1755),
    ])
    func `a mask takes bits from all modes, and adds none`(
        kind: FileKind, mode: UInt16, umask: UInt32, shown: mode_t
    ) {
        var ownership = ShownOwnership()
        ownership.umask = umask
        #expect(attributes(kind, mode: mode).status(ownership).st_mode & 0o7777 == shown)
    }

    @Test
    func `a change sets only the attributes that the kernel names`() {
        var status = stat()
        status.st_mode = S_IFREG | 0o640
        status.st_uid = 7
        status.st_size = 99
        status.st_mtim = timespec(tv_sec: 3, tv_nsec: 4)

        let mode = AttributeChange(status, settable: FUSE_SET_ATTR_MODE)
        #expect(mode.mode == 0o640)
        #expect(mode.userID == nil && mode.groupID == nil)
        #expect(mode.size == nil && mode.modified == nil)

        let others = AttributeChange(
            status, settable: FUSE_SET_ATTR_UID | FUSE_SET_ATTR_SIZE | FUSE_SET_ATTR_MTIME)
        #expect(others.mode == nil && others.userID == 7 && others.size == 99)
        #expect(others.modified == .at(Timestamp(seconds: 3, nanoseconds: 4)))
    }

    @Test
    func `the kernel says whether bits of the mode have to be cleared`() {
        #expect(AttributeChange(stat(), settable: apus_setattr_clears_set_id).clearsSetID)
        #expect(!AttributeChange(stat(), settable: FUSE_SET_ATTR_UID).clearsSetID)
    }

    @Test
    func `now wins over a given time`() {
        let change = AttributeChange(
            stat(), settable: FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW)
        #expect(change.modified == .now)
    }

    @Test
    func `setting the access time changes nothing`() {
        let change = AttributeChange(
            stat(), settable: FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW)
        #expect(change.isEmpty)
    }
}
