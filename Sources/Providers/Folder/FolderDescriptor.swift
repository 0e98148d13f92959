import Glibc

/// A file descriptor that closes with its last reference.
final class FolderDescriptor: Sendable {
    let number: Int32

    /// Takes over an open descriptor.
    init(owning number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }
}
