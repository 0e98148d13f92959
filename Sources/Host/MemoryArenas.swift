import CLinux

/// The arenas from which malloc serves threads. glibc makes up to eight for each core, and each keeps
/// what its threads have freed: the same work takes more memory on a larger machine (I9).
package enum MemoryArenas {
    static let countMax: CInt = 2

    /// Limits the arenas made from now on. Most small blocks come from caches of the threads, so that
    /// these rarely wait for each other.
    ///
    /// - Returns: Whether the C library has such a limit.
    @discardableResult
    package static func limit() -> Bool { apus_limit_arenas(countMax) }
}
