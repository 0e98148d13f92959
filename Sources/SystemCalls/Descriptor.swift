import Glibc

/// An open file descriptor, closed with its last reference.
package final class Descriptor: Sendable {
    package let rawValue: Int32

    /// Takes ownership of an open descriptor.
    package init(adopting rawValue: Int32) {
        precondition(rawValue >= 0, "only an open descriptor can be owned")
        self.rawValue = rawValue
    }

    deinit {
        // The result is ignored: Linux frees the number even if it reports a failure, and fsync
        // has told those who depend on the bytes.
        close(rawValue)
    }
}
