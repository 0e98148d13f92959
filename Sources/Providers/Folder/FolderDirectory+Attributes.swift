import CLinux
import Engine
import Glibc
import ProviderSupport
import SystemCalls

extension FolderDirectory {
    /// Sets mode, modification time and extended attributes of the object at `name`.
    ///
    /// - Parameters:
    ///   - kind: The expected kind.
    ///   - etag: For a file, the expected version.
    ///   - traits: Those of the folder.
    /// - Throws: `.missing`, `.changed`, `.wrongKind`.
    func set(
        _ attributes: ObjectAttributes, on name: FileName, kind: FileKind, etag: ETag?,
        traits: ProviderTraits
    ) throws(ProviderError) {
        // Of a symbolic link, Linux keeps only the time.
        if kind == .symlink { return try setModified(name, to: attributes.modified) }
        let object = try open(name, FOLDER_O_PATH)
        try Self.check(object, kind, etag)
        if traits.extendedAttributes != nil {
            try object.set(
                attributes.extendedAttributes, allowedBy: attributes.mode,
                keepsMode: traits.keepsMode)
        }
        if traits.keepsMode {
            try object.setMode(attributes.mode)
            // The new time hides a change by another program, so check as late as possible.
            try Self.check(object, kind, etag)
        }
        try object.setModified(attributes.modified)
    }

    private static func check(
        _ object: Descriptor, _ kind: FileKind, _ etag: ETag?
    ) throws(ProviderError) {
        let status = try status(of: object)
        guard status.kind == kind else { throw ProviderError(.wrongKind, "it is not a \(kind)") }
        if let etag, status.etag != etag {
            throw ProviderError(.changed, "it is version \(status.etag), not \(etag)")
        }
    }
}

/// Opening with `O_PATH` requires no permission on the object; the changes go through the
/// descriptor's name in `/proc`.
extension Descriptor {
    func setMode(_ mode: UInt16) throws(ProviderError) {
        if chmod(processPath, mode_t(mode & 0o7777)) != 0 {
            throw ProviderError(.last, in: "chmod")
        }
    }

    func setModified(_ time: Timestamp) throws(ProviderError) {
        if utimensat(AT_FDCWD, processPath, time.asAccessAndModified, 0) != 0 {
            throw ProviderError(.last, in: "utimensat")
        }
    }

    /// - Parameter mode: The mode that the object gets afterwards. Only a user who may write a file
    ///   may set its attributes, see xattr(7), so the owner gets that permission for a moment.
    func set(
        _ attributes: ExtendedAttributes, allowedBy mode: UInt16, keepsMode: Bool
    ) throws(ProviderError) {
        let path = Array(processPath.utf8CString)
        if try FolderAttributes.read(path, follows: true) == attributes { return }
        if keepsMode { try setMode(mode | 0o600) }
        let found = try FolderAttributes.read(path, follows: true) ?? ExtendedAttributes()
        try FolderAttributes.set(attributes, from: found, at: path)
    }

    private var processPath: String { "/proc/self/fd/\(rawValue)" }
}
