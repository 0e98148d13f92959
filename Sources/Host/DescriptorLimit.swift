import Glibc

/// The number of descriptors that this process may have open. POSIX: `RLIMIT_NOFILE`.
package enum DescriptorLimit {
    /// Raises the soft limit to the hard one.
    ///
    /// - Returns: The limit from now on, which is the old one if the system refuses.
    package static func raise() -> UInt64 {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return UInt64(current) }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(resource, &limit)
        return UInt64(current)
    }

    /// The soft limit; POSIX's minimum if the system does not tell.
    private static var current: rlim_t {
        var limit = rlimit()
        return getrlimit(resource, &limit) == 0 ? limit.rlim_cur : 20
    }

    /// The number of descriptors for content files: three eighths of the limit, at most 4,096, and half as
    /// many that are about to be closed. The rest is for connections, pieces that are fetched from a folder,
    /// the database and directories; and reopening a file is cheap.
    static var forContent: Int { Int(min(current / 8 * 3, 4_096)) }

    private static var resource: __rlimit_resource_t { .init(RLIMIT_NOFILE.rawValue) }
}
