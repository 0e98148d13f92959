import CLinux
import Engine
import Glibc
import ProviderSupport
import SystemCalls

/// The directory that serves as the cloud, identified by its device and inode.
///
/// It is opened again for each call. So an unmounted disk is noticed, which would otherwise look as
/// if everything had been deleted; and the disk can be unmounted, which an open descriptor would
/// prevent.
struct FolderRoot: Sendable {
    /// Absolute, as bytes.
    let path: [UInt8]
    /// Whether file systems that are mounted below the directory belong to it.
    private let entersMounts: Bool
    private let identity: FolderStatus

    /// - Throws: `.missing`, `.wrongKind`, `.denied`, `.unreachable`.
    init(path: [UInt8], entersMounts: Bool) throws(ProviderError) {
        self.path = path
        self.entersMounts = entersMounts
        identity = try FolderStatus(of: Self.open(path, O_RDONLY))
    }

    /// - Throws: `.unreachable` if the path leads to another directory than at first, or nowhere;
    ///   `.busy` for lack of descriptors.
    func open() throws(ProviderError) -> FolderDirectory {
        let descriptor: Descriptor
        let found: FolderStatus
        do {
            descriptor = try Self.open(path, apus_o_path)
            found = try FolderStatus(of: descriptor)
        } catch {
            // Without descriptors nothing is known of the folder.
            if error.cause is DiskError { throw error }
            throw ProviderError(
                .unreachable, "the folder itself cannot be opened (\(error.reason)); mount it again"
            )
        }
        guard found.isSameObject(as: identity) else {
            throw ProviderError(
                .unreachable,
                "another folder is in its place now: its disk was unmounted, or it was replaced")
        }
        return FolderDirectory(descriptor, mount: entersMounts ? nil : found.mount)
    }

    /// Opens the directory that `key` names.
    ///
    /// - Throws: `.missing` if any part is missing or not a directory.
    func directory(_ key: ObjectKey) throws(ProviderError) -> FolderDirectory {
        var directory = try open()
        for name in key.names {
            if FolderName.isReserved(name) { throw ProviderError(.missing, "the name is reserved") }
            directory = try directory.directory(name)
        }
        return directory
    }

    /// Opens the directory that holds `key`, which is not the root.
    ///
    /// - Throws: `.missing`; `.unsupported` for the root and for reserved names.
    func place(of key: ObjectKey) throws(ProviderError) -> FolderPlace {
        guard let parent = key.parent, let name = key.names.last else {
            throw ProviderError(.unsupported, "the root cannot be changed")
        }
        if FolderName.isReserved(name) {
            throw ProviderError(.unsupported, "names like this are reserved for temporary files")
        }
        return FolderPlace(directory: try directory(parent), name: name)
    }

    /// Follows symbolic links, since the user chose the path to the root.
    private static func open(_ path: [UInt8], _ flags: Int32) throws(ProviderError) -> Descriptor {
        do {
            return try Descriptor(
                opening: path.map(CChar.init(bitPattern:)) + [0], flags: flags | O_DIRECTORY)
        } catch {
            if error.code == ENOTDIR { throw ProviderError(.wrongKind, "\(error)") }
            throw ProviderError(error, in: "open")
        }
    }
}

/// A name in an open directory, used or unused.
struct FolderPlace: Sendable {
    let directory: FolderDirectory
    let name: FileName

    func status() throws(ProviderError) -> FolderStatus {
        try directory.status(of: name)
    }
}
