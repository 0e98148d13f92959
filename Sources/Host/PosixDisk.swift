import CHost
package import Engine
import Glibc
import Synchronization

/// The disk of this machine, below one directory that belongs to us alone.
///
/// Directories are made mode 0700, files 0600; a symbolic link in a file's place is refused.
/// Clones take shape in a directory of their own, ``workshop``, which is emptied at start: a copy
/// that a crash cut short is never seen under the name it was meant for.
package final class PosixDisk: Disk {
    /// Where clones are made before they get their name. ``files(below:)`` does not show it.
    static let workshop = "clones"

    private let root: Descriptor
    private let clonesMade = Atomic<UInt64>(0)
    private let durableNames = DurableDirectories()
    private let copies: SparseCopy
    private let sharesBytes: Bool

    /// Opens the directory once: a later rename of it, or a mount over it, changes nothing here.
    ///
    /// - Parameters:
    ///   - path: An existing directory, locked by a ``StateDirectory``: two disks over one directory
    ///     disturb each other's clones.
    ///   - isReadOnly: Whether even the clones that a killed process left stay.
    /// - Throws: `.missing`, `.denied`, `.full`, `.failed`.
    package convenience init(
        directory path: String, isReadOnly: Bool = false
    ) throws(DiskError) {
        try self.init(
            directory: path, sharesBytes: true, copies: SparseCopy(), isReadOnly: isReadOnly)
    }

    /// - Parameters:
    ///   - sharesBytes: Whether clones try `FICLONE` before they copy.
    ///   - copies: How clones are copied.
    init(
        directory path: String, sharesBytes: Bool, copies: SparseCopy, isReadOnly: Bool = false
    ) throws(DiskError) {
        do {
            root = try Descriptor(directory: path)
        } catch {
            throw DiskError(error, attempt: "open the directory \"\(path)\"")
        }
        self.sharesBytes = sharesBytes
        self.copies = copies
        if !isReadOnly { try emptyWorkshop() }
    }

    package func open(_ path: DiskPath) throws(DiskError) -> any DiskFile {
        do throws(SystemError) {
            let location = Location(path)
            let handle = try withParents(of: location) { () throws(SystemError) in
                try Descriptor(
                    opening: location.path, in: root, flags: O_RDWR | O_CREAT, mode: 0o600)
            }
            return file(handle, at: location)
        } catch {
            throw DiskError(error, attempt: "open \"\(path)\"")
        }
    }

    package func clone(_ file: any DiskFile, to path: DiskPath) throws(DiskError) -> any DiskFile {
        guard let source = file.descriptor else {
            preconditionFailure("a file of another disk cannot be cloned by this one")
        }
        do throws(SystemError) {
            let location = Location(path)
            let draft = "\(Self.workshop)/\(clonesMade.add(1, ordering: .relaxed).newValue)"
            let handle = try Descriptor(
                opening: draft, in: root, flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
            do throws(SystemError) {
                try withExtendedLifetime(file) { () throws(SystemError) in
                    try fill(handle.rawValue, from: source)
                }
                try withParents(of: location) { () throws(SystemError) in
                    _ = try retryingInterrupts {
                        renameat(root.rawValue, draft, root.rawValue, location.path)
                    }
                }
            } catch {
                unlinkat(root.rawValue, draft, 0)
                throw error
            }
            return self.file(handle, at: location)
        } catch {
            throw DiskError(error, attempt: "clone a file to \"\(path)\"")
        }
    }

    package func move(_ path: DiskPath, to destination: DiskPath) throws(DiskError) {
        do throws(SystemError) {
            let (from, to) = (Location(path), Location(destination))
            // Where the file itself is missing, a second look finds that too.
            try withParents(of: to) { () throws(SystemError) in
                _ = try retryingInterrupts {
                    renameat(root.rawValue, from.path, root.rawValue, to.path)
                }
            }
        } catch {
            throw DiskError(error, attempt: "move \"\(path)\" to \"\(destination)\"")
        }
    }

    package func remove(_ path: DiskPath) throws(DiskError) {
        do {
            _ = try retryingInterrupts { unlinkat(root.rawValue, Location(path).path, 0) }
        } catch {
            if error.code == ENOENT { return }
            throw DiskError(error, attempt: "remove \"\(path)\"")
        }
    }

    package func files(below directory: DiskPath) throws(DiskError) -> [DiskPath] {
        do {
            return try DirectoryWalk(root: root, hidden: Self.workshop)
                .files(below: directory.description).map { DiskPath($0) }
        } catch {
            throw DiskError(error, attempt: "list the files below \"\(directory)\"")
        }
    }

    package func synchronizeAll() throws(DiskError) {
        do {
            _ = try retryingInterrupts { apus_synchronize_file_system(root.rawValue) }
        } catch {
            throw DiskError(error, attempt: "put all files on the disk")
        }
    }

    package func space() throws(DiskError) -> StorageSpace {
        do throws(SystemError) {
            return try root.space()
        } catch {
            throw DiskError(error, attempt: "read the free space of the state directory")
        }
    }

}

// MARK: - Helpers

extension PosixDisk {
    private func file(_ handle: Descriptor, at location: Location) -> PosixFile {
        PosixFile(handle, path: DiskPath(location.path)) {
            [root, durableNames] () throws(DiskError) in
            do throws(SystemError) {
                try durableNames.synchronize(location.parents, in: root)
            } catch {
                throw DiskError(
                    error, attempt: "write the name \"\(location.path)\" through to the disk")
            }
        }
    }

    private func fill(_ target: Int32, from source: Int32) throws(SystemError) {
        if sharesBytes {
            do {
                _ = try retryingInterrupts { apus_share_bytes(target, source) }
                return
            } catch {
                // These would meet a copy too. All else means that this file system cannot share,
                // or not just now.
                if [ENOSPC, EDQUOT, EIO].contains(error.code) { throw error }
            }
        }
        try requireRoom(toCopy: source)
        try copies.copy(source, to: target)
    }

    private func requireRoom(toCopy source: Int32) throws(SystemError) {
        var status = stat()
        _ = try retryingInterrupts { fstat(source, &status) }
        // POSIX: st_blocks counts 512 bytes each, and no holes.
        let bytes = UInt64(max(0, status.st_blocks)) * 512
        let space = try root.space()
        guard bytes + space.reserve < space.availableBytes else { throw SystemError(ENOSPC) }
    }

    /// Carries out `body`, a second time with the parent directories made if they were missing.
    private func withParents<Result>(
        of location: Location, _ body: () throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        do {
            return try body()
        } catch {
            if error.code != ENOENT { throw error }
        }
        for parent in location.parents.dropFirst() {
            try makeDirectory(parent)
        }
        return try body()
    }

    private func makeDirectory(_ path: String) throws(SystemError) {
        do {
            _ = try retryingInterrupts { mkdirat(root.rawValue, path, 0o700) }
        } catch {
            if error.code != EEXIST { throw error }
        }
    }

    private func emptyWorkshop() throws(DiskError) {
        do {
            try makeDirectory(Self.workshop)
            for draft in try DirectoryWalk(root: root, hidden: nil).files(below: Self.workshop)
            where StateFiles.isClone(DiskPath(draft)) {
                _ = try retryingInterrupts { unlinkat(root.rawValue, draft, 0) }
            }
        } catch {
            throw DiskError(error, attempt: "empty \"\(Self.workshop)\" in the state directory")
        }
    }
}
