import Glibc

/// A file descriptor that is closed with its last reference.
package final class OwnedDescriptor: Sendable {
    package let number: Int32

    /// Takes ownership of an open descriptor.
    package init(owning number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }
}
