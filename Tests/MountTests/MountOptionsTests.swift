import Testing

@testable import Mount

struct MountOptionsTests {
    @Test
    func `the kernel checks permissions, and ignores devices and set-user-ID bits`() {
        let words = MountOptions(mountPoint: "/m", source: "folder:/a").libfuseOptions
            .split(separator: ",")
        #expect(words.contains("default_permissions"))
        #expect(words.contains("nodev") && words.contains("nosuid"))
        #expect(words.contains("fsname=folder:/a") && words.contains("subtype=apus"))
        #expect(!words.contains("ro") && !words.contains("allow_other"))
    }

    @Test
    func `a source cannot inject options`() {
        let options = MountOptions(mountPoint: "/m", source: #"folder:/a,allow_other\,ro"#)
        #expect(options.libfuseOptions.hasPrefix(#"fsname=folder:/a\,allow_other\\\,ro,subtype="#))
    }

    @Test
    func `read-only and shared mounts have their options`() {
        var options = MountOptions(mountPoint: "/m", source: "folder:/a")
        options.isReadOnly = true
        options.allowsOthers = true
        #expect(options.libfuseOptions.hasSuffix(",ro,allow_other"))
    }

    @Test
    func `the device is that of the topmost mount at the path`() {
        let mounts = #"""
            20 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw
            30 20 0:50 / /mnt/a\040b rw - fuse.apus folder:/one rw
            31 30 0:51 / /mnt/a\040b rw shared:2 master:3 - fuse.apus folder:/two rw
            """#
        #expect(ReadAhead.device(of: "/mnt/a b", in: mounts) == "0:51")
        #expect(ReadAhead.device(of: "/", in: mounts) == "8:1")
        #expect(ReadAhead.device(of: "/mnt", in: mounts) == nil)
    }
}
