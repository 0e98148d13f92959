import CFuse
import Engine
import Glibc

extension fuse_lowlevel_ops {
    mutating func addAttributes() {
        getattr = { request, inode, _ in
            Request(request, .getattr, inode).serveAttributes { (engine, inode) throws(Blocked) in
                try engine.attributes(of: inode)
            }
        }
        setattr = { request, inode, status, settable, _ in
            let change = AttributeChange(status!.pointee, settable: settable)
            Request(request, .setattr, inode).serveAttributes { (engine, inode) throws(Blocked) in
                // Access times are not stored.
                if change.isEmpty { return try engine.attributes(of: inode) }
                return try engine.setAttributes(of: inode, to: change)
            }
        }
        statfs = { request, inode in
            Request(request, .statfs, inode).serve { (engine, _) throws(Blocked) in
                engine.space
            } answer: { request, space in
                request.reply.statistics(space.statistics)
            }
        }
    }

    mutating func addExtendedAttributes() {
        getxattr = { request, inode, name, room in
            let request = Request(request, .getxattr, inode)
            request.trace()
            guard strncmp(name!, "user.", 5) == 0 else {
                request.reply.fail(Request.refusal(of: name!, room: room))
                return
            }
            let name = [UInt8](cString: name!)
            request.serve { (engine, inode) throws(Blocked) in
                try engine.extendedAttribute(name, of: inode)
            } answer: { request, value in
                request.reply.extendedAttribute(value, room: room)
            }
        }
        listxattr = { request, inode, room in
            Request(request, .listxattr, inode).serve { (engine, inode) throws(Blocked) in
                try engine.extendedAttributes(of: inode)
            } answer: { request, attributes in
                // Each name ends with NUL. Linux: `listxattr`.
                request.reply.extendedAttribute(attributes.names.flatMap { $0 + [0] }, room: room)
            }
        }
        setxattr = { request, inode, name, value, count, flags in
            Request(request, .setxattr, inode).setExtendedAttribute(
                name!, to: [UInt8](UnsafeRawBufferPointer(start: value, count: count)),
                flags: flags)
        }
        removexattr = { request, inode, name in
            Request(request, .setxattr, inode).setExtendedAttribute(name!, to: nil, flags: 0)
        }
    }
}

extension Request {
    /// The error for an attribute of another namespace than `user`, which is found without reading the
    /// inode.
    ///
    /// After EOPNOTSUPP, `ls` asks for the labels and access lists of no other file of the mount. But
    /// programs that copy capabilities expect that a file has none, and so does the kernel, which asks
    /// before the first write after each refresh of the attributes; its EVM asks for the size of others.
    ///
    /// - Parameter room: 0 if only the size of the value is asked for.
    fileprivate static func refusal(of name: UnsafePointer<CChar>, room: Int) -> CInt {
        let isAbsent =
            strcmp(name, "security.capability") == 0
            || room == 0 && strncmp(name, "security.", 9) == 0
        return isAbsent ? ENODATA : EOPNOTSUPP
    }

    fileprivate consuming func serveAttributes(
        _ operation: @escaping @Sendable (Engine, InodeNumber) throws(Blocked) -> Attributes
    ) {
        serve(operation) { request, attributes in
            let form = request.server.form
            request.answer(nil, attributes) { reply in reply.attributes(attributes, form) }
        }
    }

    /// - Parameters:
    ///   - name: Valid until the callback returns.
    ///   - value: nil to remove the attribute.
    ///   - flags: Linux: `XATTR_CREATE`, `XATTR_REPLACE`.
    fileprivate consuming func setExtendedAttribute(
        _ name: UnsafePointer<CChar>, to value: [UInt8]?, flags: CInt
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
        serve { (engine, inode) throws(Blocked) in
            try engine.setExtendedAttribute(name, to: value, change, of: inode)
        }
    }
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
