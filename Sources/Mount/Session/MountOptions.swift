import CFuse
import Engine

/// How a mount is shown and cached.
package struct MountOptions: Sendable {
    /// An existing, empty directory, as an absolute path without symbolic links. The caller has
    /// made sure: libfuse would mount over a full one too.
    package var mountPoint: String
    /// What `mount` and `df` show as the source.
    package var source: String
    package var isReadOnly = false
    /// Whether users other than the one who mounts may look inside. Ordinary users need
    /// `user_allow_other` in `/etc/fuse.conf`.
    package var allowsOthers = false
    /// Whether the kernel may remember where symbolic links point. Not where some are to be shown only,
    /// as it would follow what it was shown.
    package var cachesSymlinks = false
    package var timeouts = CacheTimeouts()
    /// How many requests may wait for the network at a time; further ones wait on their threads.
    package var waitingRequestsMax = 256
    /// How many requests are answered at a time, where libfuse has such a bound (3.12 on).
    package var threadsMax = 32
    /// How far the kernel reads ahead, in bytes; root only, others keep the kernel's 128 KiB.
    package var readAheadBytes = 1 << 19

    package init(mountPoint: String, source: String) {
        self.mountPoint = mountPoint
        self.source = source
    }
}

extension MountOptions {
    /// As libfuse and fusermount3 take them after `-o`.
    var libfuseOptions: String {
        var words = [
            // A comma ends an option, and a backslash takes its meaning away.
            "fsname=" + source.replacing("\\", with: "\\\\").replacing(",", with: "\\,"),
            "subtype=\(FuseSession.subtype)",
            "default_permissions", "nodev", "nosuid",
            "max_read=\(fuse_conn_info.readBytesMax)",
        ]
        if isReadOnly { words.append("ro") }
        if allowsOthers { words.append("allow_other") }
        return words.joined(separator: ",")
    }
}

/// How long the kernel may answer without asking.
///
/// What changes on the remote is invalidated at once, so these only bound how long a change stays
/// unseen whose invalidation met a lookup in flight, or could not be sent.
package struct CacheTimeouts: Sendable {
    /// For what an inode's attributes are.
    package var attributes = Duration.seconds(60)
    /// For which inode a name points at.
    package var entries = Duration.seconds(60)
    /// For that a name is not there; zero to ask every time.
    package var negativeEntries = Duration.zero

    package init() {}

    /// How long the kernel may remember these attributes: not at all while better ones are on
    /// their way, so that who looks next sees those, and a look that failed is repeated.
    func seconds(for attributes: Attributes) -> Double {
        attributes.isProvisional ? 0 : self.attributes.seconds
    }
}
