import CFolder
import Engine
import Glibc

/// The directory that plays the cloud, known by its device and inode.
///
/// It is opened anew for each call. So an unmounted disk is noticed, which would otherwise look as
/// if everything had been deleted; and it can be unmounted, which an open descriptor would prevent.
struct FolderRoot: Sendable {
    /// Absolute, as bytes.
    let path: [UInt8]
    private let identity: FolderStatus

    /// - Throws: `.missing`, `.wrongKind`, `.denied`, `.unreachable`.
    init(path: [UInt8]) throws(FolderFailure) {
        self.path = path
        let directory = try Self.openReadable(path)
        identity = try FolderDirectory.status(of: directory)
    }

    /// - Throws: `.unreachable` if the path leads to another directory than at first, or nowhere;
    ///   `.busy` for lack of descriptors.
    func open() throws(FolderFailure) -> FolderDirectory {
        let descriptor: FolderDescriptor
        let found: FolderStatus
        do {
            descriptor = try Self.openToPass(path)
            found = try FolderDirectory.status(of: descriptor)
        } catch {
            // Without descriptors nothing is known of the folder.
            if error.cause is DiskError { throw error }
            throw FolderFailure(
                .unreachable, "the folder itself cannot be opened (\(error.reason)); mount it again"
            )
        }
        guard found.isSameObject(as: identity) else {
            throw FolderFailure(
                .unreachable,
                "another folder is in its place now: its disk was unmounted, or it was replaced")
        }
        return FolderDirectory(descriptor)
    }

    /// Opens the directory that `key` names.
    ///
    /// - Throws: `.missing` where any part is missing or no directory.
    func directory(_ key: ObjectKey) throws(FolderFailure) -> FolderDirectory {
        var directory = try open()
        for name in key.names {
            if FolderName.isReserved(name) { throw FolderFailure(.missing, "no such name") }
            directory = try directory.directory(name)
        }
        return directory
    }

    /// Opens the directory that holds `key`, which is not the root.
    ///
    /// - Throws: `.missing`; `.unsupported` for the root and for names that this provider keeps for
    ///   itself.
    func place(of key: ObjectKey) throws(FolderFailure) -> FolderPlace {
        guard let parent = key.parent, let name = key.names.last else {
            throw FolderFailure(.unsupported, "the root itself stays as it is")
        }
        if FolderName.isReserved(name) {
            throw FolderFailure(.unsupported, "names like this are kept for temporary files")
        }
        return FolderPlace(directory: try directory(parent), name: name)
    }

    private static func openReadable(_ path: [UInt8]) throws(FolderFailure) -> FolderDescriptor {
        try openPath(path, O_RDONLY)
    }

    private static func openToPass(_ path: [UInt8]) throws(FolderFailure) -> FolderDescriptor {
        try openPath(path, FOLDER_O_PATH)
    }

    /// The path to the root is the user's own: it may lead over symbolic links.
    private static func openPath(
        _ path: [UInt8], _ flags: Int32
    ) throws(FolderFailure) -> FolderDescriptor {
        let path = path.map(CChar.init(bitPattern:)) + [0]
        let number = Glibc.open(path, flags | O_DIRECTORY | O_CLOEXEC)
        guard number >= 0 else {
            let error = SystemError.last
            if error.code == ENOTDIR { throw FolderFailure(.wrongKind, "\(error)") }
            throw FolderFailure(error, in: "open")
        }
        return FolderDescriptor(owning: number)
    }
}

/// A name in an open directory, whether something has it or not.
struct FolderPlace: Sendable {
    let directory: FolderDirectory
    let name: FileName

    func status() throws(FolderFailure) -> FolderStatus {
        try directory.status(of: name)
    }

    func statusIfPresent() throws(FolderFailure) -> FolderStatus? {
        try directory.statusIfPresent(of: name)
    }
}
