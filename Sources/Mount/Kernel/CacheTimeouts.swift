import Engine

/// How long the kernel may answer from its caches without asking.
///
/// All changes that the kernel does not make itself are invalidated, see ``KernelNotifier``, so nothing
/// has to expire. See `docs/decisions/024-kernel-caches.md`.
package struct CacheTimeouts: Sendable {
    /// So long that it does not matter.
    static let unlimited = Duration.seconds(10 * 365 * 86_400)

    /// For an inode's attributes.
    package var attributes: Duration
    /// For the inode that a name points at.
    package var entries: Duration
    /// For the absence of a name; zero to ask every time.
    package var negativeEntries: Duration

    package init(_ kernel: KernelRelease = .running) {
        // Without epochs, invalidations that find the queue full are lost.
        let timeout = kernel.hasEpochs ? Self.unlimited : .seconds(3_600)
        attributes = timeout
        entries = timeout
        negativeEntries = kernel.invalidatesAbsences ? timeout : .zero
    }

    /// Returns how long the kernel may cache these attributes, in seconds.
    ///
    /// Provisional attributes are not cached, so that the next lookup sees the final ones or
    /// repeats a failed fetch; those of an idle directory are not, so that its next use is reported.
    func seconds(for attributes: Attributes) -> Double {
        attributes.isProvisional || attributes.isIdle ? 0 : self.attributes.seconds
    }
}

extension Duration {
    var seconds: Double { self / .seconds(1) }
}
