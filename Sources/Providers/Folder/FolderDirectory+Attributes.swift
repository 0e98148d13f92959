import CFolder
import Engine
import Glibc

extension FolderDirectory {
    /// Sets mode and modification time of what is at `name`.
    ///
    /// - Parameters:
    ///   - kind: What is expected there.
    ///   - etag: For a file, the version that is expected.
    /// - Throws: `.missing`, `.changed`, `.wrongKind`.
    func set(
        _ attributes: ObjectAttributes, on name: FileName, kind: FileKind, etag: ETag?,
        keepsMode: Bool
    ) throws(FolderFailure) {
        // Of a symbolic link, Linux keeps the time alone.
        if kind == .symlink { return try setModified(name, to: attributes.modified) }
        let object = try open(name, FOLDER_O_PATH)
        try Self.check(object, kind, etag)
        if keepsMode {
            try object.setMode(attributes.mode)
            // The new time hides a change by others, so look as late as possible.
            try Self.check(object, kind, etag)
        }
        try object.setModified(attributes.modified)
    }

    private static func check(
        _ object: FolderDescriptor, _ kind: FileKind, _ etag: ETag?
    ) throws(FolderFailure) {
        let status = try status(of: object)
        guard status.kind == kind else { throw FolderFailure(.wrongKind, "it is no \(kind)") }
        if let etag, status.etag != etag {
            throw FolderFailure(.changed, "it is version \(status.etag), not \(etag)")
        }
    }
}

/// A descriptor that was opened with `O_PATH` needs no permission on the object, and is changed by
/// way of its name in `/proc`.
extension FolderDescriptor {
    func setMode(_ mode: UInt16) throws(FolderFailure) {
        if chmod(processPath, mode_t(mode & 0o7777)) != 0 {
            throw FolderFailure(.last, in: "chmod")
        }
    }

    func setModified(_ time: Timestamp) throws(FolderFailure) {
        if utimensat(AT_FDCWD, processPath, time.asAccessAndModified, 0) != 0 {
            throw FolderFailure(.last, in: "utimensat")
        }
    }

    private var processPath: String { "/proc/self/fd/\(number)" }
}
