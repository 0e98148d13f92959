import CFuse
import Engine
import Glibc

/// The operations on attributes, and on the file system as a whole.
struct AttributeOperations {
    let server: RequestServer

    private var engine: Engine { server.engine }

    func get(_ reply: consuming Reply, _ inode: InodeNumber) {
        server.serve("getattr", inode, reply) { [engine] () throws(Blocked) in
            try engine.attributes(of: inode)
        } answer: { [self] in
            $0.attributes($1, timeout: server.timeouts.seconds(for: $1))
        }
    }

    func set(
        _ reply: consuming Reply, _ inode: InodeNumber, to change: AttributeChange
    ) {
        // Access times are not stored.
        guard !change.isEmpty else {
            get(reply, inode)
            return
        }
        server.serve("setattr", inode, reply) { [engine] () throws(Blocked) in
            try engine.setAttributes(of: inode, to: change)
        } answer: { [self] in
            $0.attributes($1, timeout: server.timeouts.seconds(for: $1))
        }
    }

    /// - Parameters:
    ///   - name: Valid until the callback returns.
    ///   - room: The size of the caller's buffer in bytes; 0 asks for the length only.
    func getExtended(
        _ reply: consuming Reply, _ inode: InodeNumber, _ name: UnsafePointer<CChar>, room: Int
    ) {
        // The kernel asks for `security.capability` before every write, and `ls` for the access
        // list of every file: answered without reading the inode.
        guard strncmp(name, "user.", 5) == 0 else {
            reply.fail(strncmp(name, "system.", 7) == 0 ? EOPNOTSUPP : ENODATA)
            return
        }
        let name = [UInt8](cString: name)
        server.serve("getxattr", inode, reply) { [engine] () throws(Blocked) in
            try engine.extendedAttribute(name, of: inode)
        } answer: {
            $0.extendedAttribute($1, room: room)
        }
    }

    /// - Parameters:
    ///   - name: Valid until the callback returns.
    ///   - value: nil to remove the attribute.
    ///   - flags: Linux: `XATTR_CREATE`, `XATTR_REPLACE`.
    func setExtended(
        _ reply: consuming Reply, _ inode: InodeNumber, _ name: UnsafePointer<CChar>,
        to value: [UInt8]?, flags: CInt
    ) {
        guard strncmp(name, "user.", 5) == 0 else {
            reply.fail(EOPNOTSUPP)
            return
        }
        let name = [UInt8](cString: name)
        let change: ExtendedAttributeChange
        switch flags {
        case 0: change = .set
        case CInt(XATTR_CREATE): change = .create
        case CInt(XATTR_REPLACE): change = .replace
        default:
            reply.fail(EINVAL)
            return
        }
        server.serve("setxattr", inode, reply) { [engine] () throws(Blocked) in
            try engine.setExtendedAttribute(name, to: value, change, of: inode)
        } answer: { reply, _ in
            reply.succeed()
        }
    }

    func listExtended(_ reply: consuming Reply, _ inode: InodeNumber, room: Int) {
        server.serve("listxattr", inode, reply) { [engine] () throws(Blocked) in
            try engine.extendedAttributes(of: inode)
        } answer: { reply, attributes in
            // Each name ends with NUL. Linux: `listxattr`.
            reply.extendedAttribute(attributes.names.flatMap { $0 + [0] }, room: room)
        }
    }

    func statistics(_ reply: consuming Reply, _ inode: InodeNumber) {
        server.serve("statfs", inode, reply) { [engine] () throws(Blocked) in
            engine.space
        } answer: {
            $0.statistics($1.statistics)
        }
    }
}

extension RequestServer {
    var attributes: AttributeOperations { AttributeOperations(server: self) }
}

extension StorageSpace {
    /// The values that `df` shows. The number of inodes is unlimited, which is reported as 0.
    var statistics: statvfs {
        let blockBytes: UInt64 = 4096
        var statistics = statvfs()
        statistics.f_bsize = UInt(blockBytes)
        statistics.f_frsize = UInt(blockBytes)
        statistics.f_blocks = fsblkcnt_t(totalBytes / blockBytes)
        statistics.f_bfree = fsblkcnt_t(freeBytes / blockBytes)
        statistics.f_bavail = fsblkcnt_t(availableBytes / blockBytes)
        statistics.f_namemax = UInt(FileName.bytesMax)
        return statistics
    }
}
