import CLinux
package import Engine
import Glibc
import Synchronization
import SystemCalls

/// The disk of this machine, below one directory that only we use.
///
/// Directories get mode 0700, files 0600; a symbolic link in place of a file is refused. Clones are
/// made in a directory of their own, ``workshop``, which is emptied at start: a copy that a crash
/// interrupted never gets the name that it was made for.
package final class PosixDisk: Disk {
    /// Where clones are made before they get their name. ``files(below:)`` does not show it.
    static let workshop = "clones"

    /// The directory, and the state of the files in it.
    struct Root: Sendable {
        let directory: Descriptor
        let durableNames = DurableDirectories()
        let open: OpenInodes
        /// Whether the file system grants leases. NFS refuses them as if the file were open elsewhere.
        let hasLeases: Bool
    }

    private let root: Root
    private let clonesMade = Atomic<UInt64>(0)
    private let copies: SparseCopy
    package let sharesBytes: Bool

    /// Opens the directory once: a later rename of it, or a mount over it, changes nothing here.
    ///
    /// - Parameters:
    ///   - path: An existing directory, locked by a ``StateDirectory``: two disks over one directory
    ///     disturb each other's clones.
    ///   - isReadOnly: Keeps even the clones that a killed process left.
    /// - Throws: `.missing`, `.denied`, `.full`, `.failed`.
    package convenience init(
        directory path: String, isReadOnly: Bool = false
    ) throws(DiskError) {
        try self.init(
            directory: path, sharesBytes: true, copies: SparseCopy(), isReadOnly: isReadOnly)
    }

    /// - Parameters:
    ///   - sharesBytes: Whether clones share their bytes if the file system can; otherwise all are
    ///     copies.
    ///   - copies: How clones are copied.
    ///   - descriptorsMax: How many idle files keep their descriptor.
    ///   - willSynchronize: Called with the path of an idle file before the `fsync` after which its
    ///     descriptor is closed.
    init(
        directory path: String, sharesBytes: Bool = true, copies: SparseCopy = SparseCopy(),
        descriptorsMax: Int = DescriptorLimit.forContent, isReadOnly: Bool = false,
        willSynchronize: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(DiskError) {
        let directory = try DiskError.reporting(
            "open the directory \"\(path)\"", Descriptor(directory: path))
        if !isReadOnly { try Self.emptyWorkshop(in: directory) }
        root = Root(
            directory: directory,
            open: OpenInodes(
                root: directory, capacity: descriptorsMax, willSynchronize: willSynchronize),
            hasLeases: !isReadOnly && Self.hasLeases(in: directory))
        self.copies = copies
        guard !isReadOnly else {
            self.sharesBytes = false
            return
        }
        self.sharesBytes =
            if sharesBytes {
                try DiskError.reporting("clone a file", Self.canShareBytes(in: directory))
            } else { false }
    }

    package func open(_ path: DiskPath) throws(DiskError) -> any DiskFile {
        let location = Location(path)
        if let inode = root.open.retain(location.path) { return PosixFile(inode, on: root) }
        do throws(SystemError) {
            let handle = try withParents(of: location) { () throws(SystemError) in
                try Descriptor(
                    opening: location.path, in: root.directory, flags: O_RDWR | O_CREAT,
                    mode: 0o600)
            }
            return PosixFile(try root.open.insert(handle, at: location), on: root)
        } catch {
            throw DiskError(error, attempt: "open \"\(path)\"")
        }
    }

    package func awaitDescriptors() { root.open.closer.awaitPlace() }

    /// Waits until no idle file is being synchronised.
    func awaitIdleFiles() { root.open.closer.awaitEnd() }

    package func clone(_ file: any DiskFile, to path: DiskPath) throws(DiskError) -> any DiskFile {
        if let clone = try share(file, to: path) { return clone }
        let source = try Self.descriptor(of: file)
        return try make(path) { (target) throws(SystemError) in
            try requireRoom(toCopy: source)
            try copies.copy(source.rawValue, to: target.rawValue)
        }
    }

    package func share(
        _ file: any DiskFile, to path: DiskPath
    ) throws(DiskError) -> (any DiskFile)? {
        guard sharesBytes else { return nil }
        let source = try Self.descriptor(of: file)
        var isRefused = false
        do throws(DiskError) {
            return try make(path) { (target) throws(SystemError) in
                isRefused = try !Self.share(source.rawValue, with: target.rawValue)
                if isRefused { throw SystemError(EOPNOTSUPP) }
            }
        } catch {
            if isRefused { return nil }
            throw error
        }
    }

    package func copy(
        _ range: Range<UInt64>, of file: any DiskFile, to target: any DiskFile
    ) throws(DiskError) {
        let (source, target) = (try Self.descriptor(of: file), try Self.descriptor(of: target))
        defer { withExtendedLifetime((source, target)) {} }
        do throws(SystemError) {
            let space = try root.directory.space()
            guard UInt64(range.count) + space.reserve < space.availableBytes else {
                throw SystemError(ENOSPC)
            }
            try copies.copy(
                Int64(range.lowerBound)..<Int64(range.upperBound), of: source.rawValue,
                to: target.rawValue)
        } catch {
            throw DiskError(
                error, attempt: "copy \(range.count) bytes at \(range.lowerBound) of a file")
        }
    }

    package func move(_ path: DiskPath, to destination: DiskPath) throws(DiskError) {
        try DiskError.reporting(
            "move \"\(path)\" to \"\(destination)\"",
            rename(Location(path).path, to: Location(destination)))
    }

    package func remove(_ path: DiskPath) throws(DiskError) {
        do throws(SystemError) {
            let path = Location(path).path
            try root.open.withOpen(path) { inode throws(SystemError) in
                _ = try retryingInterrupts { unlinkat(root.directory.rawValue, path, 0) }
                if let inode { root.open.noteRemoval(of: inode, at: path) }
            }
        } catch {
            if error.code == ENOENT { return }
            throw DiskError(error, attempt: "remove \"\(path)\"")
        }
    }

    package func files(below directory: DiskPath) throws(DiskError) -> [DiskPath] {
        try DiskError.reporting(
            "list the files below \"\(directory)\"",
            DirectoryWalk(root: root.directory, hidden: Self.workshop)
                .files(below: directory.description).map { DiskPath($0) })
    }

    package func contents(
        of directory: DiskPath
    ) throws(DiskError) -> (files: [DiskPath], directories: [DiskPath]) {
        let found = try DiskError.reporting(
            "list \"\(directory)\"",
            DirectoryWalk(root: root.directory, hidden: Self.workshop)
                .contents(of: directory.description))
        return (found.files.map { DiskPath($0) }, found.directories.map { DiskPath($0) })
    }

    package func status(of path: DiskPath) throws(DiskError) -> DiskFileStatus? {
        var status = stat()
        do throws(SystemError) {
            _ = try retryingInterrupts {
                fstatat(
                    root.directory.rawValue, Location(path).path, &status, AT_SYMLINK_NOFOLLOW)
            }
        } catch {
            if error.code == ENOENT { return nil }
            throw DiskError(error, attempt: "read the status of \"\(path)\"")
        }
        return DiskFileStatus(status)
    }

    package func highestNumber(
        below directory: DiskPath, limit: UInt64
    ) throws(DiskError) -> UInt64? {
        try DiskError.reporting(
            "list the numbers below \"\(directory)\"",
            DirectoryWalk(root: root.directory, hidden: Self.workshop)
                .highestNumber(below: directory.description, limit: limit))
    }

    package func synchronizeAll() throws(DiskError) {
        _ = try DiskError.reporting(
            "put all files on the disk",
            retryingInterrupts { apus_synchronize_file_system(root.directory.rawValue) })
    }

    package func space() throws(DiskError) -> StorageSpace {
        try DiskError.reporting(
            "read the free space of the state directory", root.directory.space())
    }
}

// MARK: - Helpers

extension PosixDisk {
    /// POSIX: `rename`. Files in use keep their bytes, the moved one and one that it replaces.
    private func rename(_ path: String, to destination: Location) throws(SystemError) {
        try root.open.withOpen(path) { _ throws(SystemError) in
            try root.open.withOpen(destination.path) { _ throws(SystemError) in
                // If the file itself is missing, the second try finds that too.
                try withParents(of: destination) { () throws(SystemError) in
                    let directory = root.directory.rawValue
                    _ = try retryingInterrupts {
                        renameat(directory, path, directory, destination.path)
                    }
                }
                root.open.noteMove(of: path, to: destination)
            }
        }
    }

    private static func descriptor(of file: any DiskFile) throws(DiskError) -> any OpenDescriptor {
        guard let descriptor = try file.openDescriptor() else {
            preconditionFailure("a file of another disk cannot be cloned by this one")
        }
        return descriptor
    }

    /// Makes a file that gets its name once `fill` has succeeded.
    private func make(
        _ path: DiskPath, _ fill: (Descriptor) throws(SystemError) -> Void
    ) throws(DiskError) -> PosixFile {
        do throws(SystemError) {
            let location = Location(path)
            let draft = "\(Self.workshop)/\(clonesMade.add(1, ordering: .relaxed).newValue)"
            let handle = try Self.makeDraft(draft, in: root.directory)
            do throws(SystemError) {
                try fill(handle)
                try rename(draft, to: location)
            } catch {
                unlinkat(root.directory.rawValue, draft, 0)
                throw error
            }
            return PosixFile(try root.open.insert(handle, at: location), on: root)
        } catch {
            throw DiskError(error, attempt: "clone a file to \"\(path)\"")
        }
    }

    private static func makeDraft(
        _ draft: String, in directory: Descriptor
    ) throws(SystemError) -> Descriptor {
        try Descriptor(
            opening: draft, in: directory, flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
    }

    /// - Returns: Whether the bytes are shared now; false if the file system cannot, or not now.
    private static func share(_ source: Int32, with target: Int32) throws(SystemError) -> Bool {
        do {
            _ = try retryingInterrupts { apus_share_bytes(target, source) }
            return true
        } catch {
            // A copy would fail with these too.
            if [ENOSPC, EDQUOT, EIO].contains(error.code) { throw error }
            return false
        }
    }

    /// Whether the file system can share bytes, found out by trying.
    private static func hasLeases(in directory: Descriptor) -> Bool {
        let draft = "\(workshop)/0"
        defer { unlinkat(directory.rawValue, draft, 0) }
        // It is open nowhere else.
        guard let file = try? makeDraft(draft, in: directory) else { return false }
        return apus_is_open_elsewhere(file.rawValue) == 0
    }

    private static func canShareBytes(in directory: Descriptor) throws(SystemError) -> Bool {
        let drafts = ["\(workshop)/0", "\(workshop)/00"]
        defer { for draft in drafts { unlinkat(directory.rawValue, draft, 0) } }
        do throws(SystemError) {
            let source = try makeDraft(drafts[0], in: directory)
            let target = try makeDraft(drafts[1], in: directory)
            try PosixIO.write(source.rawValue, [0])
            return try share(source.rawValue, with: target.rawValue)
        } catch {
            // The disk is full; the next start may find room.
            if [ENOSPC, EDQUOT].contains(error.code) { return false }
            throw error
        }
    }

    private func requireRoom(toCopy source: any OpenDescriptor) throws(SystemError) {
        defer { withExtendedLifetime(source) {} }
        var status = stat()
        _ = try retryingInterrupts { fstat(source.rawValue, &status) }
        // POSIX: st_blocks counts 512 bytes each, and no holes.
        let bytes = UInt64(max(0, status.st_blocks)) * 512
        let space = try root.directory.space()
        guard bytes + space.reserve < space.availableBytes else { throw SystemError(ENOSPC) }
    }

    /// Carries out `body`; if parent directories are missing, makes them and tries again.
    private func withParents<Result>(
        of location: Location, _ body: () throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        do {
            return try body()
        } catch {
            if error.code != ENOENT { throw error }
        }
        for parent in location.parents.dropFirst() {
            try Self.makeDirectory(parent, in: root.directory)
        }
        return try body()
    }

    private static func makeDirectory(
        _ path: String, in directory: Descriptor
    ) throws(SystemError) {
        do {
            _ = try retryingInterrupts { mkdirat(directory.rawValue, path, 0o700) }
        } catch {
            if error.code != EEXIST { throw error }
        }
    }

    private static func emptyWorkshop(in directory: Descriptor) throws(DiskError) {
        do {
            try makeDirectory(workshop, in: directory)
            for draft in try DirectoryWalk(root: directory, hidden: nil).files(below: workshop)
            where StateFiles.isClone(DiskPath(draft)) {
                _ = try retryingInterrupts { unlinkat(directory.rawValue, draft, 0) }
            }
        } catch {
            throw DiskError(error, attempt: "empty \"\(workshop)\" in the state directory")
        }
    }
}

/// A checked path below the state directory.
struct Location: Sendable {
    /// Relative to the root.
    let path: String

    /// - Parameter path: Names separated by single slashes, none of them `.` or `..`. The engine makes
    ///   all paths, so one that leads out of the state directory is a broken invariant.
    init(_ path: DiskPath) {
        let names = path.description.utf8.split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        precondition(
            names.allSatisfy { name in
                !name.isEmpty && !name.elementsEqual(".".utf8) && !name.elementsEqual("..".utf8)
                    && !name.contains(0)
            },
            "\"\(path)\" is not a path below the state directory")
        self.path = path.description
    }

    /// The directories above the file, from the root (`.`) down to its parent.
    var parents: [String] {
        let names = path.split(separator: "/")
        return ["."] + names.indices.dropFirst().map { names[..<$0].joined(separator: "/") }
    }
}
