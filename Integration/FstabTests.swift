import Glibc
import Testing

extension MountedTests {
    /// Method: mount(8) runs in a mount namespace of its own, in which a directory with nothing but the
    /// helper stands for `/sbin`, and a file of the test for `/etc/fstab`.
    @Suite(
        .enabled(if: geteuid() == 0, "only root can make a mount namespace"),
        .timeLimit(.minutes(3)))
    struct `A line of fstab` {
        /// Runs a script as root, with the functions and variables of this one.
        private static let prelude = """
            base=$1 apus=$2 point=$1/mount
            mount --bind "$base/sbin" "$(readlink -f /sbin)"
            mount --bind "$base/fstab" /etc/fstab
            mkdir "$base/device"
            mount -t tmpfs tmpfs "$base/device"
            mknod -m 666 "$base/device/fuse" c 10 229
            mount --bind "$base/device/fuse" /dev/fuse
            trap 'status=$?; umount -l "$point" 2>/dev/null || :; exit $status' EXIT
            as_user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

            """

        /// Mounts by a script, with a line of fstab; the script has to unmount.
        private func with(
            options: String, owner: uid_t = 0, script: String
        ) throws -> (MountedFolder, Program.Result) {
            let folder = try MountedFolder()
            try Files.setMode(0o755, of: folder.base)
            for name in ["sbin", "home"] { try Files.makeDirectory("\(folder.base)/\(name)") }
            try Program.require("ln", "-s", Apus.path, "\(folder.base)/sbin/mount.apus")
            for path in ["home", "mount", "remote"] {
                try Program.require("chown", "\(owner)", "\(folder.base)/\(path)")
            }
            let line =
                "\(folder.source) \(folder.point) apus \(options),state-dir=\(Self.state(folder)) 0 0\n"
            try Files.write(Array(line.utf8), to: "\(folder.base)/fstab")
            let result = try Program.run(
                "unshare", "--mount", "--propagation", "private", "sh", "-ec",
                Self.prelude + script, "sh", folder.base, Apus.path)
            return (folder, result)
        }

        private static func state(_ folder: MountedFolder) -> String { "\(folder.base)/home/state" }

        /// Waits for the end of the daemon, whose lock names it.
        private func end(_ folder: MountedFolder) throws {
            let lock = try Files.read("\(Self.state(folder))/lock")
            let line = String(decoding: lock.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
            let process = try #require(pid_t(line.filter { !$0.isWhitespace }))
            try eventually("the daemon ends after umount") { !MountedFolder.isRunning(process) }
        }

        @Test func `is mounted by mount -a, any number of times, until umount`() throws {
            let (folder, result) = try with(
                options: "_netdev,nofail,x-systemd.automount,cache-size=1GiB",
                script: """
                    mount -a
                    findmnt --noheadings --output FSTYPE "$point"
                    echo text > "$point/file"
                    mount -a 2>&1
                    cat "$point/file"
                    "$apus" sync "$point" > /dev/null
                    umount "$point"
                    ! findmnt "$point"
                    """)
            defer { folder.remove() }
            result.expectSuccess()
            let lines = result.output.split(separator: "\n")
            #expect(lines.first == "fuse.apus" && lines.last == "text", "\(result)")
            #expect(result.output.contains("note: \(folder.source) is already mounted there"))
            try end(folder)
            #expect(try Files.read(folder.remote("file")) == Array("text\n".utf8))
        }

        @Test func `is not mounted with other access than before, and says so`() throws {
            let (folder, result) = try with(
                options: "noauto",
                script: """
                    mount "$point"
                    mount -o ro "$point" || echo $?
                    echo text > "$point/file"
                    umount "$point"
                    """)
            defer { folder.remove() }
            result.expectSuccess()
            #expect(result.output == "32\n", "\(result)")
            #expect(result.errors.contains("already mounted there, and takes changes"), "\(result)")
            #expect(result.errors.contains("apus unmount \(folder.point)"), "\(result)")
            try end(folder)
        }

        @Test func `takes the options ro and noexec`() throws {
            let (folder, result) = try with(
                options: "noauto,ro,noexec",
                script: """
                    printf '#!/bin/sh\\necho ran' > "$base/remote/program"
                    chmod 755 "$base/remote/program"
                    mount "$point"
                    ! echo text > "$point/file"
                    ! "$point/program"
                    sh "$point/program"
                    umount "$point"
                    """)
            defer { folder.remove() }
            result.expectSuccess()
            #expect(result.output == "ran\n")
            #expect(result.errors.contains("Read-only file system"), "\(result)")
            #expect(result.errors.contains("Permission denied"), "\(result)")
            try end(folder)
        }

        /// An exit status of 77 means that this user cannot reach the program.
        @Test func `with user is mounted and unmounted by an ordinary user`() throws {
            let (folder, result) = try with(
                options: "noauto,user,_netdev", owner: 65_534,
                script: """
                    as_user "$apus" --version > /dev/null || exit 77
                    as_user mount "$point"
                    as_user sh -c 'echo text > "$0/file"' "$point"
                    findmnt --noheadings --output OPTIONS "$point"
                    as_user umount "$point"
                    """)
            defer { folder.remove() }
            guard result.status != 77 else { return }
            result.expectSuccess()
            for option in ["noexec", "nosuid", "nodev", "user_id=65534"] {
                #expect(result.output.contains(option), "\(result)")
            }
            try end(folder)
        }

        @Test func `that cannot be mounted gives the reason and the status of mount(8)`() throws {
            let (folder, result) = try with(
                options: "noauto",
                script: """
                    touch "$point/file"
                    mount "$point" || echo $?
                    """)
            defer { folder.remove() }
            result.expectSuccess()
            #expect(result.output == "32\n")
            #expect(result.errors.contains("it is not empty"), "\(result)")
        }
    }
}
