import CFuse
import Engine
import Glibc

// The operations on names.
extension RequestServer {
    func lookup(_ reply: consuming Reply, _ name: FileName, in parent: InodeNumber) {
        let engine = engine
        guard timeouts.negativeEntries > .zero else {
            serve("lookup", parent, reply) { () throws(Halt) in
                try engine.lookup(name, in: parent)
            } answer: { [self] in
                answerEntry($0, $1)
            }
            return
        }
        serve("lookup", parent, reply) { () throws(Halt) -> Attributes? in
            do throws(Halt) {
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
                // Inode 0 has the kernel remember that there is none.
                var entry = fuse_entry_param()
                entry.entry_timeout = timeouts.negativeEntries.seconds
                reply.entry(entry)
            }
        }
    }

    /// Looks up `.`, as NFS and `open_by_handle_at` do.
    func lookupItself(_ reply: consuming Reply, _ inode: InodeNumber) {
        serve("lookup", inode, reply) { [engine] () throws(Halt) in
            try engine.attributes(of: inode)
        } answer: { [self] in
            answerEntry($0, $1)
        }
    }

    /// Looks up `..`, as NFS and `open_by_handle_at` do.
    func lookupParent(_ reply: consuming Reply, of directory: InodeNumber) {
        serve("lookup", directory, reply) { [engine] () throws(Halt) in
            try engine.attributes(of: try engine.parent(of: directory))
        } answer: { [self] in
            answerEntry($0, $1)
        }
    }

    /// - Parameter mode: With its file type.
    func makeNode(
        _ reply: consuming Reply, _ name: FileName, in parent: InodeNumber, mode: mode_t
    ) {
        // A mode without a type means a regular file. POSIX: `mknod`.
        guard [0, S_IFREG].contains(mode & S_IFMT) else {
            reply.fail(EPERM)
            return
        }
        let caller = reply.caller
        serve("mknod", parent, reply) { [engine] () throws(Halt) in
            let attributes = try engine.createFile(
                name, in: parent, mode: UInt16(mode & 0o7777), caller: caller)
            // Creating opens; this request does not.
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
        serve("mkdir", parent, reply) { [engine] () throws(Halt) in
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
        serve("symlink", parent, reply) { [engine] () throws(Halt) in
            try engine.createSymlink(name, in: parent, target: target, caller: caller)
        } answer: { [self] in
            answerEntry($0, $1)
        }
    }

    func readSymlink(_ reply: consuming Reply, _ inode: InodeNumber) {
        let thread = reply.thread
        serve("readlink", inode, reply) { [engine] () throws(Halt) in
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
        serve("unlink", parent, reply) { [engine] () throws(Halt) in
            try engine.unlink(name, in: parent)
        } answer: { reply, _ in
            reply.succeed()
        }
    }

    func removeDirectory(_ reply: consuming Reply, _ name: FileName, in parent: InodeNumber) {
        serve("rmdir", parent, reply) { [engine] () throws(Halt) in
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
        serve("rename", parent, reply) { [engine] () throws(Halt) in
            try engine.rename(name, in: parent, to: newName, in: newParent, mode: mode)
        } answer: { reply, _ in
            reply.succeed()
        }
    }

    private func answerEntry(_ reply: consuming Reply, _ attributes: Attributes) {
        reply.entry(attributes.entry(timeouts))
    }
}
