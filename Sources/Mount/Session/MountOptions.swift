import CFuse

/// How a mount is shown and cached.
package struct MountOptions: Sendable {
    /// Makes the mount's type `fuse.apus`.
    private static let subtype = "apus"

    /// An existing, empty directory, as an absolute path without symbolic links. The caller must
    /// check this, as libfuse also mounts over a directory that is not empty.
    package var mountPoint: String
    /// The source that `mount` and `df` show.
    package var source: String
    package var isReadOnly = false
    /// Whether programs in the mount can be run.
    package var allowsExecution = true
    /// Whether other users may access the mount. Mounting so as an ordinary user requires
    /// `user_allow_other` in `/etc/fuse.conf`.
    package var allowsOthers = false
    /// Whether the kernel may cache the targets of symbolic links. Must be false if some links may
    /// be read but not followed, as the kernel would follow a cached target.
    package var cachesSymlinks = false
    package var form = AttributeForm()
    package var scanners = Scanners()
    /// How many requests may wait for the network at a time; further ones fail with `EAGAIN`.
    package var waitingRequestsMax = 4_096
    /// How many requests are answered at a time, if libfuse supports the limit (from 3.12 on).
    package var threadsMax = 32
    /// How far the kernel reads ahead, in bytes, if root mounts; else the kernel's 128 KiB hold.
    package var readAheadBytes = 1 << 19

    package init(mountPoint: String, source: String) {
        self.mountPoint = mountPoint
        self.source = source
    }
}

extension MountOptions {
    /// The options in the form in which libfuse and fusermount3 expect them after `-o`.
    var libfuseOptions: String {
        var words = [
            // A comma ends an option unless a backslash escapes it.
            "fsname=" + source.replacing("\\", with: "\\\\").replacing(",", with: "\\,"),
            "subtype=\(Self.subtype)",
            "default_permissions", "nodev", "nosuid",
            "max_read=\(fuse_conn_info.readBytesMax)",
        ]
        if isReadOnly { words.append("ro") }
        if !allowsExecution { words.append("noexec") }
        if allowsOthers { words.append("allow_other") }
        return words.joined(separator: ",")
    }
}
