import CLinux
import Engine
import Glibc
import ProviderSupport
import SystemCalls

extension FolderDirectory {
    /// Returns the object at `name` for the engine.
    ///
    /// - Throws: `.missing`, also for sockets, devices and pipes, which no cloud can store.
    func object(_ name: FileName) throws(ProviderError) -> RemoteObject {
        guard let object = try objectIfAny(name) else {
            throw ProviderError(.missing, "it is not a file, directory or symbolic link")
        }
        return object
    }

    /// - Returns: nil for sockets, devices and pipes.
    /// - Throws: `.missing`.
    func objectIfAny(_ name: FileName) throws(ProviderError) -> RemoteObject? {
        let status = try status(of: name)
        guard let kind = status.kind else { return nil }
        return RemoteObject(
            name: name, kind: kind, etag: kind == .file ? status.etag : nil,
            size: kind == .file ? status.size : 0, modified: status.modified,
            mode: status.permissions, target: kind == .symlink ? try target(of: name) : nil,
            extendedAttributes: kind == .symlink ? nil : try attributes(of: name))
    }

    /// Sets mode, modification time and extended attributes of the object at `name`.
    ///
    /// - Parameters:
    ///   - kind: The expected kind.
    ///   - etag: For a file, the expected version.
    ///   - traits: Those of the folder.
    /// - Throws: `.missing`, `.changed`, `.wrongKind`.
    func set(
        _ attributes: ObjectAttributes, only fields: AttributeFields = .all, on name: FileName,
        kind: FileKind, etag: ETag?, traits: ProviderTraits
    ) throws(ProviderError) {
        // Of a symbolic link, Linux keeps only the time.
        if kind == .symlink {
            if fields.contains(.modified) { try setModified(name, to: attributes.modified) }
            return
        }
        let object = try open(name, apus_o_path)
        let status = try Self.check(object, kind, etag)
        let mode = fields.contains(.mode) ? attributes.mode : status.permissions
        if fields.contains(.extendedAttributes), traits.extendedAttributes != nil {
            try object.set(
                attributes.extendedAttributes, allowedBy: mode, keepsMode: traits.keepsMode)
        }
        if fields != .modified, traits.keepsMode {
            try object.setMode(mode)
            // The new time hides a change by another program, so check as late as possible.
            try Self.check(object, kind, etag)
        }
        if fields.contains(.modified) { try object.setModified(attributes.modified) }
    }

    @discardableResult
    private static func check(
        _ object: Descriptor, _ kind: FileKind, _ etag: ETag?
    ) throws(ProviderError) -> FolderStatus {
        let status = try FolderStatus(of: object)
        guard status.kind == kind else { throw ProviderError(.wrongKind, "it is not a \(kind)") }
        if let etag, status.etag != etag {
            throw ProviderError(.changed, "it is version \(status.etag), not \(etag)")
        }
        return status
    }
}

/// Opening with `O_PATH` requires no permission on the object; the changes go through the
/// descriptor's name in `/proc`.
extension Descriptor {
    func setMode(_ mode: UInt16) throws(ProviderError) {
        try ProviderError.check("chmod", chmod(processPath, mode_t(mode & 0o7777)))
    }

    func setModified(_ time: Timestamp) throws(ProviderError) {
        let times = time.asAccessAndModified
        try ProviderError.check("utimensat", utimensat(AT_FDCWD, processPath, times, 0))
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
