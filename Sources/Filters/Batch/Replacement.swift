import CVips
import Glibc

/// A new version of a file, in the making: a hidden temporary beside it.
///
/// It either takes the file's place in one step (``commit()``) or leaves no trace.
struct Replacement: ~Copyable {
    private let original: RawPath
    private let identity: FileIdentity
    private let temporary: RawPath
    private let descriptor: Int32
    private var isCommitted = false

    /// How the temporaries' names begin; a walk passes them over.
    static let namePrefix = Array(".apus-apply-".utf8)

    /// - Parameters:
    ///   - original: The file to be replaced.
    ///   - identity: What it was when its bytes were read.
    init(of original: RawPath, identity: FileIdentity) throws(FileError) {
        self.original = original
        self.identity = identity
        let random = String(UInt64.random(in: .min ... .max), radix: 36)
        temporary = original.sibling(Self.namePrefix + random.utf8 + Array(".tmp".utf8))
        descriptor = temporary.withCString {
            open($0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        }
        guard descriptor >= 0 else {
            throw .lastCall("no temporary file can be made beside it")
        }
    }

    deinit {
        close(descriptor)
        if !isCommitted { _ = temporary.withCString(unlink) }
    }

    func write(_ bytes: [UInt8]) throws(FileError) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { raw in
                Glibc.write(descriptor, raw.baseAddress! + written, raw.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .lastCall("the new version cannot be written") }
            written += count
        }
    }

    /// Puts the new version, with the original's owner, mode and extended attributes as far as the
    /// user may set them, in the original's place. It survives power loss.
    ///
    /// - Throws: Where the original has changed since it was read, among others.
    consuming func commit() throws(FileError) {
        try adoptAttributes()
        guard fsync(descriptor) == 0 else { throw .lastCall("the new version is not on disk") }
        guard FileIdentity(at: original) == identity else {
            throw FileError("it was changed by somebody else meanwhile; run again")
        }
        let status = temporary.withCString { from in original.withCString { rename(from, $0) } }
        guard status == 0 else { throw .lastCall("cannot be replaced") }
        isCommitted = true
    }

    private borrowing func adoptAttributes() throws(FileError) {
        // Only root may give files away; a group that the user is in is another matter.
        if fchown(descriptor, identity.owner, identity.group) != 0 {
            _ = fchown(descriptor, uid_t.max, identity.group)
        }
        guard fchmod(descriptor, identity.mode) == 0 else {
            throw .lastCall("the mode cannot be kept")
        }
        copyExtendedAttributes()
    }

    /// What cannot be read or set is left out: many file systems have none.
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

    /// What a call gives that first tells the size and then fills a buffer; empty on failure.
    private static func bytes(_ call: (UnsafeMutablePointer<CChar>?, Int) -> Int) -> [UInt8] {
        let size = call(nil, 0)
        guard size > 0 else { return [] }
        var buffer = [CChar](repeating: 0, count: size)
        let count = call(&buffer, size)
        return buffer.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }
    }
}
