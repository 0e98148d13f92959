import CLinux
import Glibc
import SystemCalls

/// A new version of a file, written to a hidden temporary file beside it.
///
/// ``commit()`` replaces the file atomically; otherwise the temporary file is removed.
struct Replacement: ~Copyable {
    private let original: RawPath
    private let identity: FileIdentity
    private let temporary: RawPath
    private let descriptor: Int32
    private var isCommitted = false

    /// The prefix of temporary file names, which ``Walk`` skips.
    static let namePrefix = Array(".apus-apply-".utf8)

    /// - Parameters:
    ///   - original: The file to be replaced.
    ///   - identity: Its identity when its bytes were read.
    init(of original: RawPath, identity: FileIdentity) throws(FileError) {
        self.original = original
        self.identity = identity
        let random = String(UInt64.random(in: .min ... .max), radix: 36)
        temporary = original.sibling(Self.namePrefix + random.utf8 + Array(".tmp".utf8))
        descriptor = temporary.withCString {
            open($0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        }
        guard descriptor >= 0 else {
            throw .lastCall("cannot create a temporary file beside it")
        }
    }

    deinit {
        close(descriptor)
        if !isCommitted { _ = temporary.withCString(unlink) }
    }

    func write(_ bytes: [UInt8]) throws(FileError) {
        do {
            try PosixIO.write(descriptor, bytes)
        } catch {
            throw FileError("cannot write the new version", error)
        }
    }

    /// Replaces the original with the new version, once its bytes are on disk.
    ///
    /// The new version gets the original's owner, mode and extended attributes, as far as the user
    /// may set them.
    ///
    /// - Throws: If the original has changed since it was read, or a system call fails.
    consuming func commit() throws(FileError) {
        try adoptAttributes()
        guard fsync(descriptor) == 0 else {
            throw .lastCall("cannot write the new version to disk")
        }
        guard FileIdentity(at: original) == identity else {
            throw FileError("changed by another program in the meantime; run again")
        }
        let status = temporary.withCString { from in original.withCString { rename(from, $0) } }
        guard status == 0 else { throw .lastCall("cannot replace the file") }
        isCommitted = true
    }

    private borrowing func adoptAttributes() throws(FileError) {
        // Only root can change the owner, but users can set a group they belong to.
        if fchown(descriptor, identity.owner, identity.group) != 0 {
            _ = fchown(descriptor, uid_t.max, identity.group)
        }
        guard fchmod(descriptor, identity.mode) == 0 else {
            throw .lastCall("cannot set the mode")
        }
        copyExtendedAttributes()
    }

    /// Skips attributes that cannot be read or set: many file systems have none.
    private borrowing func copyExtendedAttributes() {
        let path = original
        let names = Self.bytes { buffer, size in path.withCString { listxattr($0, buffer, size) } }
        for name in names.split(separator: 0) where !name.starts(with: "user.apus.".utf8) {
            let key = RawPath(bytes: Array(name))
            let value = key.withCString { name in
                Self.bytes { buffer, size in
                    path.withCString { getxattr($0, name, buffer, size) }
                }
            }
            let target = descriptor
            _ = key.withCString { fsetxattr(target, $0, value, value.count, 0) }
        }
    }

    /// Calls once for the size, then with a buffer to fill; returns nothing on failure.
    private static func bytes(_ call: (UnsafeMutablePointer<CChar>?, Int) -> Int) -> [UInt8] {
        let size = call(nil, 0)
        guard size > 0 else { return [] }
        var buffer = [CChar](repeating: 0, count: size)
        let count = call(&buffer, size)
        return buffer.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }
    }
}
