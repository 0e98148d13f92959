import CFuse
import Engine
import Glibc

/// The operations on names.
struct NameOperations {
    let server: RequestServer

    private var engine: Engine { server.engine }
    private var timeouts: CacheTimeouts { server.timeouts }

    func lookUp(_ reply: consuming Reply, _ name: FileName, in parent: InodeNumber) {
        guard timeouts.negativeEntries > .zero else {
            server.serve("lookup", parent, reply) { [engine] () throws(Blocked) in
                try engine.lookup(name, in: parent)
            } answer: { [self] in
                answerEntry($0, $1)
            }
            return
        }
        server.serve("lookup", parent, reply) { [engine] () throws(Blocked) -> Attributes? in
            do throws(Blocked) {
                return try engine.lookup(name, in: parent)
            } catch {
                guard case .failure(let failure) = error, failure.kind == .notFound else {
                    throw error
                }
                return nil
            }
        } answer: { [self] reply, attributes in
            if let attributes {
                answerEntry(reply, attributes)
            } else {
                // Inode 0 makes the kernel cache the absence.
                var entry = fuse_entry_param()
                entry.entry_timeout = timeouts.negativeEntries.seconds
                reply.entry(entry)
            }
        }
    }

    /// Looks up `.`, as NFS and `open_by_handle_at` do.
    func lookUpItself(_ reply: consuming Reply, _ inode: InodeNumber) {
        server.serve("lookup", inode, reply) { [engine] () throws(Blocked) in
            try engine.attributes(of: inode)
        } answer: { [self] in
            answerEntry($0, $1)
        }
    }

    /// Looks up `..`, as NFS and `open_by_handle_at` do.
    func lookUpParent(_ reply: consuming Reply, of directory: InodeNumber) {
        server.serve("lookup", directory, reply) { [engine] () throws(Blocked) in
            try engine.attributes(of: try engine.parent(of: directory))
        } answer: { [self] in
            answerEntry($0, $1)
        }
    }

    /// - Parameter mode: Includes the file type.
    func makeNode(
        _ reply: consuming Reply, _ name: FileName, in parent: InodeNumber, mode: mode_t
    ) {
        // A mode without a type means a regular file. POSIX: `mknod`.
        guard [0, S_IFREG].contains(mode & S_IFMT) else {
            reply.fail(EPERM)
            return
        }
        let caller = reply.caller
        server.serve("mknod", parent, reply) { [engine] () throws(Blocked) in
            let attributes = try engine.createFile(
                name, in: parent, mode: UInt16(mode & 0o7777), caller: caller)
            // Creating a file also opens it, but this request does not.
            engine.release(attributes.inode, access: .write)
            return attributes
        } answer: { [self] in
            answerEntry($0, $1)
        }
    }

    func makeDirectory(
        _ reply: consuming Reply, _ name: FileName, in parent: InodeNumber, mode: mode_t
    ) {
        let caller = reply.caller
        server.serve("mkdir", parent, reply) { [engine] () throws(Blocked) in
            try engine.createDirectory(
                name, in: parent, mode: UInt16(mode & 0o7777), caller: caller)
        } answer: { [self] in
            answerEntry($0, $1)
        }
    }

    func makeSymlink(
        _ reply: consuming Reply, _ name: FileName, in parent: InodeNumber, target: [UInt8]
    ) {
        let caller = reply.caller
        server.serve("symlink", parent, reply) { [engine] () throws(Blocked) in
            try engine.createSymlink(name, in: parent, target: target, caller: caller)
        } answer: { [self] in
            answerEntry($0, $1)
        }
    }

    func readSymlink(_ reply: consuming Reply, _ inode: InodeNumber) {
        let thread = reply.thread
        server.serve("readlink", inode, reply) { [engine] () throws(Blocked) in
            let link = try engine.symbolicLink(inode)
            if link.isContained, !LinkReading.isShown(to: thread) {
                throw .failure(
                    EngineError(
                        .contained, "follow inode \(inode) out of the mount",
                        remedy: "look with `apus status`, or mount with --no-contain-symlinks"))
            }
            return link.target
        } answer: {
            $0.target($1)
        }
    }

    func unlink(_ reply: consuming Reply, _ name: FileName, in parent: InodeNumber) {
        server.serve("unlink", parent, reply) { [engine] () throws(Blocked) in
            try engine.unlink(name, in: parent)
        } answer: { reply, _ in
            reply.succeed()
        }
    }

    func removeDirectory(_ reply: consuming Reply, _ name: FileName, in parent: InodeNumber) {
        server.serve("rmdir", parent, reply) { [engine] () throws(Blocked) in
            try engine.removeDirectory(name, in: parent)
        } answer: { reply, _ in
            reply.succeed()
        }
    }

    /// - Parameter flags: As of `renameat2`; exchanging and whiteouts are refused.
    func rename(
        _ reply: consuming Reply, _ name: FileName, in parent: InodeNumber,
        to newName: FileName, in newParent: InodeNumber, flags: CUnsignedInt
    ) {
        let mode: RenameMode
        switch flags {
        case 0: mode = .replace
        case apus_rename_noreplace: mode = .noReplace
        default:
            reply.fail(EINVAL)
            return
        }
        server.serve("rename", parent, reply) { [engine] () throws(Blocked) in
            try engine.rename(name, in: parent, to: newName, in: newParent, mode: mode)
        } answer: { reply, _ in
            reply.succeed()
        }
    }

    private func answerEntry(_ reply: consuming Reply, _ attributes: Attributes) {
        reply.entry(attributes.entry(timeouts))
    }
}

extension RequestServer {
    var names: NameOperations { NameOperations(server: self) }
}
