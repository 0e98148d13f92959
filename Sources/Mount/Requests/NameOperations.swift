import CFuse
import Engine
import Glibc

extension fuse_lowlevel_ops {
    mutating func addLookups() {
        lookup = { request, parent, name in
            let request = Request(request, .lookup, parent)
            switch RequestedName(name!) {
            case .name(let name): request.lookUp(name)
            // NFS and `open_by_handle_at` look up these two.
            case .itself:
                request.serveEntry(nil) { (engine, inode) throws(Blocked) in
                    try engine.attributes(of: inode)
                }
            case .parent:
                request.serveEntry(nil) { (engine, directory) throws(Blocked) in
                    try engine.attributes(of: try engine.parent(of: directory))
                }
            case .impossible(let errno): request.reply.fail(errno)
            }
        }
        readlink = { request, inode in
            let request = Request(request, .readlink, inode)
            let thread = request.reply.thread
            request.serve { (engine, inode) throws(Blocked) in
                let link = try engine.symbolicLink(inode)
                if link.isContained, !LinkReading.isShown(to: thread) {
                    throw .failure(
                        EngineError(
                            .contained, "follow inode \(inode) out of the mount",
                            remedy: "look with `apus status`, or mount with --no-contain-symlinks"))
                }
                return link.target
            } answer: { request, target in
                request.reply.target(target)
            }
        }
    }

    mutating func addNames() {
        mknod = { request, parent, name, mode, _ in
            Request(request, .mknod, parent).naming(name) { request, name in
                request.makeNode(name, mode: mode)
            }
        }
        mkdir = { request, parent, name, mode in
            Request(request, .mkdir, parent).naming(name) { request, name in
                let caller = request.reply.caller
                request.serveEntry(name) { (engine, parent) throws(Blocked) in
                    try engine.createDirectory(
                        name, in: parent, mode: UInt16(mode & 0o7777), caller: caller)
                }
            }
        }
        symlink = { request, target, parent, name in
            let target = [UInt8](cString: target!)
            Request(request, .symlink, parent).naming(name) { request, name in
                let caller = request.reply.caller
                request.serveEntry(name) { (engine, parent) throws(Blocked) in
                    try engine.createSymlink(name, in: parent, target: target, caller: caller)
                }
            }
        }
        // As link(2) specifies for a file system without hard links; git and others then rename.
        link = { request, _, _, _ in
            Reply(request!).fail(EPERM)
        }
        unlink = { request, parent, name in
            Request(request, .unlink, parent).naming(name) { request, name in
                request.serve { (engine, parent) throws(Blocked) in
                    try engine.unlink(name, in: parent)
                }
            }
        }
        rmdir = { request, parent, name in
            Request(request, .rmdir, parent).naming(name) { request, name in
                request.serve { (engine, parent) throws(Blocked) in
                    try engine.removeDirectory(name, in: parent)
                }
            }
        }
        rename = { request, parent, name, newParent, newName, flags in
            Request(request, .rename, parent).naming(name) { request, name in
                request.naming(newName) { request, newName in
                    request.rename(name, to: newName, in: InodeNumber(newParent), flags: flags)
                }
            }
        }
    }
}

extension Request {
    /// Passes on a request with the name of a file, or answers that no file can have the name.
    ///
    /// - Parameter text: Copied; only needs to live during the call.
    consuming func naming(
        _ text: UnsafePointer<CChar>?, _ body: (consuming Request, FileName) -> Void
    ) {
        switch RequestedName(text!) {
        case .name(let name): body(self, name)
        case .itself, .parent: reply.fail(EINVAL)
        case .impossible(let errno): reply.fail(errno)
        }
    }

    fileprivate consuming func lookUp(_ name: FileName) {
        serve { (engine, parent) throws(Blocked) -> Attributes? in
            try engine.find(name, in: parent)
        } answer: { request, attributes in
            let form = request.server.form
            request.answer(name, attributes) { reply in
                if let attributes {
                    reply.entry(attributes.entry(form))
                } else if form.timeouts.negativeEntries > .zero {
                    // Inode 0 makes the kernel cache the absence.
                    var entry = fuse_entry_param()
                    entry.entry_timeout = form.timeouts.negativeEntries.seconds
                    reply.entry(entry)
                } else {
                    reply.fail(ENOENT)
                }
            }
        }
    }

    /// - Parameter mode: Includes the file type.
    fileprivate consuming func makeNode(_ name: FileName, mode: mode_t) {
        // A mode without a type means a regular file. POSIX: `mknod`.
        guard [0, S_IFREG].contains(mode & S_IFMT) else {
            reply.fail(EPERM)
            return
        }
        let caller = reply.caller
        serveEntry(name) { (engine, parent) throws(Blocked) in
            let attributes = try engine.createFile(
                name, in: parent, mode: UInt16(mode & 0o7777), caller: caller)
            // Creating a file also opens it, but this request does not.
            engine.release(attributes.inode, access: .write)
            return attributes
        }
    }

    /// - Parameter flags: As of `renameat2`; exchanging and whiteouts are refused.
    fileprivate consuming func rename(
        _ name: FileName, to newName: FileName, in newParent: InodeNumber, flags: CUnsignedInt
    ) {
        let mode: RenameMode
        switch flags {
        case 0: mode = .replace
        case apus_rename_noreplace: mode = .noReplace
        default:
            reply.fail(EINVAL)
            return
        }
        var request = self
        request.otherDirectory = newParent
        request.serve { (engine, parent) throws(Blocked) in
            try engine.rename(name, in: parent, to: newName, in: newParent, mode: mode)
        }
    }
}
