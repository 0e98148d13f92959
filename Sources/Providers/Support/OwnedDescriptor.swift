import Glibc

/// A file descriptor that closes with its last reference.
package final class OwnedDescriptor: Sendable {
    package let number: Int32

    /// Takes over an open descriptor.
    package init(owning number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }
}
