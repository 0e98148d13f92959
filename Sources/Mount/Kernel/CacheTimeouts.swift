import Engine

/// How long the kernel may answer from its caches without asking.
///
/// Remote changes are invalidated at once. The timeouts only bound how long a change stays unseen
/// if its invalidation raced with a lookup or could not be sent.
package struct CacheTimeouts: Sendable {
    /// For an inode's attributes.
    package var attributes = Duration.seconds(60)
    /// For the inode that a name points at.
    package var entries = Duration.seconds(60)
    /// For the absence of a name; zero to ask every time.
    package var negativeEntries = Duration.zero

    package init() {}

    /// Returns how long the kernel may cache these attributes, in seconds.
    ///
    /// Provisional attributes are not cached, so that the next lookup sees the final ones or
    /// repeats a failed fetch.
    func seconds(for attributes: Attributes) -> Double {
        attributes.isProvisional ? 0 : self.attributes.seconds
    }
}

extension Duration {
    var seconds: Double { self / .seconds(1) }
}
