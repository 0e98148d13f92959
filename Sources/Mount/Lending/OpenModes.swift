import Engine

/// Decides for each open whether the kernel reads the file by itself.
///
/// The kernel accepts only one way for all handles of an inode: all of them cached, or all lent with the
/// same identifier. So the first handle decides for those beside it. Only inodes with open handles are
/// remembered.
struct OpenModes {
    /// A file that the kernel reads by itself.
    struct Loan: Sendable {
        /// The file's number in the kernel.
        let identifier: CInt
        /// Its lease keeps the bytes local.
        let content: ReadableRange
    }

    private struct Mode {
        var handles = 0
        /// nil if the handles are cached.
        let loan: Loan?
    }

    private var modes: [InodeNumber: Mode] = [:]

    /// Whether another handle has decided for an inode.
    func isDecided(_ inode: InodeNumber) -> Bool { modes[inode] != nil }

    /// Adds a handle.
    ///
    /// - Parameter offer: Used if this is the inode's only handle.
    /// - Returns: The loan that the handle is part of; nil if it is cached.
    mutating func open(_ inode: InodeNumber, offering offer: Loan?) -> Loan? {
        let mode = modes[inode, default: Mode(loan: offer)]
        modes[inode] = Mode(handles: mode.handles + 1, loan: mode.loan)
        return mode.loan
    }

    /// Removes a handle, whose answer has failed or which the kernel has released.
    ///
    /// - Returns: The loan that ends with it.
    mutating func close(_ inode: InodeNumber) -> Loan? {
        guard let mode = modes[inode] else {
            preconditionFailure("inode \(inode) was released more often than opened")
        }
        guard mode.handles == 1 else {
            modes[inode] = Mode(handles: mode.handles - 1, loan: mode.loan)
            return nil
        }
        modes[inode] = nil
        return mode.loan
    }
}
