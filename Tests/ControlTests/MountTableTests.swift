import Control
import Testing

struct MountTableTests {
    private let table = MountTable(
        parsing: #"""
            22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/vda rw
            30 22 0:26 / /proc rw,nosuid shared:5 master:2 - proc proc rw
            41 22 0:50 / /mnt/my\040cloud rw,nosuid,nodev - fuse.apus folder:/srv/c rw,user_id=0
            42 22 0:51 / /mnt/my\040cloud/disk rw - ext4 /dev/vdb rw
            43 22 0:52 / /mnt/tab\011line\012back\134slash rw - fuse.apus s3://b/p\040q rw
            44 22 0:53 / /mnt/twice rw - fuse.apus folder:/one rw
            45 44 0:54 / /mnt/twice rw - fuse.apus folder:/two rw
            46 22 0:55 / /mnt/hidden rw - fuse.apus folder:/three rw
            47 46 0:56 / /mnt/hidden rw - tmpfs tmpfs rw
            48 44 0:57 / /mnt/same rw - fuse.apus folder:/same rw
            49 48 0:58 / /mnt/same rw - fuse.apus folder:/same rw
            no mount at all
            """#)

    @Test func `fields before and after the optional ones are told apart`() {
        #expect(table.entries.count == 11)
        #expect(table.mount(at: "/proc")?.fileSystem == "proc")
        #expect(table.mount(at: "/")?.source == "/dev/vda")
    }

    @Test func `the user who mounted is known of a FUSE mount`() {
        #expect(table.mount(at: "/mnt/my cloud")?.userID == 0)
        #expect(table.mount(at: "/mnt/hidden")?.userID == nil)
        #expect(table.mount(at: "/")?.userID == nil)
    }

    @Test func `octal escapes are undone`() {
        #expect(table.mount(at: "/mnt/my cloud")?.source == "folder:/srv/c")
        #expect(table.mount(at: "/mnt/tab\tline\nback\\slash")?.source == "s3://b/p q")
    }

    @Test(arguments: [
        ("/mnt/my cloud", "/mnt/my cloud"), ("/mnt/my cloud/a/b", "/mnt/my cloud"),
        ("/mnt/my cloud/disk/x", "/mnt/my cloud/disk"), ("/mnt/my cloudy", "/"), ("/", "/"),
    ])
    func `the longest mount point above a path holds it`(path: String, mountPoint: String) {
        #expect(table.mount(above: path)?.mountPoint == mountPoint)
    }

    @Test func `the later of two mounts at one place is the one that shows`() {
        #expect(table.mount(above: "/mnt/twice/x")?.source == "folder:/two")
        #expect(table.mount(above: "/mnt/hidden/x")?.isApus == false)
        #expect(
            table.apusMounts.map(\.source)
                == ["folder:/srv/c", "s3://b/p q", "folder:/two", "folder:/same"])
    }

    @Test func `a path is told relative to its mount`() {
        let mount = table.mount(at: "/mnt/my cloud")
        #expect(mount?.relative("/mnt/my cloud") == "")
        #expect(mount?.relative("/mnt/my cloud/a/b") == "a/b")
    }

    @Test func `a path outside of every mount is told which mounts there are`() throws {
        let error = #expect(throws: ControlError.self) {
            try MountLocator.place(of: "/proc", in: table)
        }
        #expect(error?.kind == .missing)
        #expect(error?.problem.why.contains("/mnt/my cloud") == true)
    }

    @Test func `a path that is not there is an error`() {
        let error = #expect(throws: ControlError.self) {
            try MountLocator.place(of: "/no/such/path", in: table)
        }
        #expect(error?.problem.description == "find /no/such/path: no such file or directory")
    }

    @Test func `this machine's own table can be read`() throws {
        #expect(try MountTable.current().mount(above: "/proc/self")?.fileSystem == "proc")
    }
}
