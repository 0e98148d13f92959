import CFuse
import Engine
import Glibc

extension fuse_lowlevel_ops {
    /// The callbacks of a session whose user data is its ``RequestServer``.
    ///
    /// For a missing operation libfuse answers ENOSYS, and the kernel asks no more: locks become
    /// local, and allocating and copying fall back to writing.
    static var serving: fuse_lowlevel_ops {
        var table = fuse_lowlevel_ops()
        table.addSession()
        table.addNames()
        table.addAttributes()
        table.addContent()
        table.addDirectories()
        return table
    }

    private mutating func addSession() {
        `init` = { server, connection in
            connection?.pointee.negotiate(
                cachesSymlinks: RequestServer.of(server!).cachesSymlinks)
        }
        // Inodes live in the database, whether or not the kernel knows them.
        forget = { request, _, _ in
            Reply(request!).none()
        }
        forget_multi = { request, _, _ in
            Reply(request!).none()
        }
    }

    private mutating func addNames() {
        lookup = { request, parent, name in
            let names = RequestServer.serving(request!).names
            let reply = Reply(request!)
            let parent = InodeNumber(parent)
            switch RequestedName(name!) {
            case .name(let name): names.lookUp(reply, name, in: parent)
            case .itself: names.lookUpItself(reply, parent)
            case .parent: names.lookUpParent(reply, of: parent)
            case .impossible(let errno): reply.fail(errno)
            }
        }
        mknod = { request, parent, name, mode, _ in
            naming(request!, name!) { server, reply, name in
                server.names.makeNode(reply, name, in: InodeNumber(parent), mode: mode)
            }
        }
        mkdir = { request, parent, name, mode in
            naming(request!, name!) { server, reply, name in
                server.names.makeDirectory(reply, name, in: InodeNumber(parent), mode: mode)
            }
        }
        symlink = { request, target, parent, name in
            let target = [UInt8](cString: target!)
            naming(request!, name!) { server, reply, name in
                server.names.makeSymlink(reply, name, in: InodeNumber(parent), target: target)
            }
        }
        // As link(2) specifies for a file system without hard links; git and others then rename.
        link = { request, _, _, _ in
            Reply(request!).fail(EPERM)
        }
        readlink = { request, inode in
            RequestServer.serving(request!).names.readSymlink(Reply(request!), InodeNumber(inode))
        }
        unlink = { request, parent, name in
            naming(request!, name!) { server, reply, name in
                server.names.unlink(reply, name, in: InodeNumber(parent))
            }
        }
        rmdir = { request, parent, name in
            naming(request!, name!) { server, reply, name in
                server.names.removeDirectory(reply, name, in: InodeNumber(parent))
            }
        }
        rename = { request, parent, name, newParent, newName, flags in
            naming(request!, name!) { server, reply, name in
                switch RequestedName(newName!) {
                case .name(let newName):
                    server.names.rename(
                        reply, name, in: InodeNumber(parent), to: newName,
                        in: InodeNumber(newParent), flags: flags)
                case .itself, .parent: reply.fail(EINVAL)
                case .impossible(let errno): reply.fail(errno)
                }
            }
        }
    }

    private mutating func addAttributes() {
        getattr = { request, inode, _ in
            RequestServer.serving(request!).attributes.get(Reply(request!), InodeNumber(inode))
        }
        setattr = { request, inode, status, settable, _ in
            RequestServer.serving(request!).attributes.set(
                Reply(request!), InodeNumber(inode),
                to: AttributeChange(status!.pointee, settable: settable))
        }
        getxattr = { request, inode, name, room in
            RequestServer.serving(request!).attributes.getExtended(
                Reply(request!), InodeNumber(inode), name!, room: room)
        }
        listxattr = { request, inode, room in
            RequestServer.serving(request!).attributes.listExtended(
                Reply(request!), InodeNumber(inode), room: room)
        }
        setxattr = { request, inode, name, value, count, flags in
            RequestServer.serving(request!).attributes.setExtended(
                Reply(request!), InodeNumber(inode), name!,
                to: [UInt8](UnsafeRawBufferPointer(start: value, count: count)), flags: flags)
        }
        removexattr = { request, inode, name in
            RequestServer.serving(request!).attributes.setExtended(
                Reply(request!), InodeNumber(inode), name!, to: nil, flags: 0)
        }
        statfs = { request, inode in
            RequestServer.serving(request!).attributes.statistics(
                Reply(request!), InodeNumber(inode))
        }
    }

    private mutating func addContent() {
        open = { request, inode, info in
            RequestServer.serving(request!).content.open(
                Reply(request!), InodeNumber(inode), flags: info!.pointee.flags)
        }
        create = { request, parent, name, mode, info in
            let flags = info!.pointee.flags
            naming(request!, name!) { server, reply, name in
                server.content.create(
                    reply, name, in: InodeNumber(parent), mode: mode, flags: flags)
            }
        }
        read = { request, inode, length, offset, _ in
            RequestServer.serving(request!).content.read(
                Reply(request!), InodeNumber(inode), at: UInt64(clamping: offset), length: length)
        }
        write = { request, inode, bytes, count, offset, _ in
            RequestServer.serving(request!).content.write(
                Reply(request!), InodeNumber(inode),
                UnsafeRawBufferPointer(start: bytes, count: count), at: UInt64(clamping: offset))
        }
        flush = { request, inode, info in
            RequestServer.serving(request!).content.flush(
                Reply(request!), InodeNumber(inode), handle: info!.pointee.fh)
        }
        fsync = { request, inode, _, _ in
            RequestServer.serving(request!).content.synchronize(Reply(request!), InodeNumber(inode))
        }
        release = { request, inode, info in
            RequestServer.serving(request!).content.release(
                Reply(request!), InodeNumber(inode), handle: info!.pointee.fh)
        }
    }

    private mutating func addDirectories() {
        opendir = { request, inode, _ in
            RequestServer.serving(request!).directories.open(Reply(request!), InodeNumber(inode))
        }
        readdir = { request, inode, room, offset, _ in
            RequestServer.serving(request!).directories.read(
                Reply(request!), InodeNumber(inode), after: Int64(offset), room: room,
                format: .names)
        }
        readdirplus = { request, inode, room, offset, _ in
            RequestServer.serving(request!).directories.read(
                Reply(request!), InodeNumber(inode), after: Int64(offset), room: room,
                format: .attributes)
        }
        releasedir = { request, _, _ in
            Reply(request!).succeed()
        }
        fsyncdir = { request, inode, _, _ in
            RequestServer.serving(request!).content.synchronize(Reply(request!), InodeNumber(inode))
        }
    }
}

/// Passes on a request that names a file, or answers that no file can have the name.
private func naming(
    _ request: fuse_req_t, _ name: UnsafePointer<CChar>,
    _ body: (RequestServer, consuming Reply, FileName) -> Void
) {
    let reply = Reply(request)
    switch RequestedName(name) {
    case .name(let name): body(RequestServer.serving(request), reply, name)
    case .itself, .parent: reply.fail(EINVAL)
    case .impossible(let errno): reply.fail(errno)
    }
}
