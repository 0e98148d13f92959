import CFuse
import Engine
import Glibc

// The operations on content. A handle (`fh`) is the access it was opened with and nothing more, so
// that a process that takes over from a killed one knows all that its handles mean.
extension RequestServer {
    /// - Parameter flags: As of `open`, without O_CREAT and O_EXCL.
    func open(_ reply: consuming Reply, _ inode: InodeNumber, flags: CInt) {
        readAhead.applyOnce()
        let access = Engine.Access(openFlags: flags)
        let truncating = flags & O_TRUNC != 0
        serve("open", inode, reply) { [engine] () throws(Halt) in
            try engine.open(inode, access: access, truncating: truncating)
        } answer: { [engine] reply, _ in
            // Interrupted meanwhile: no RELEASE will come.
            if !reply.opened(fuse_file_info(access)) { engine.release(inode, access: access) }
        }
    }

    /// - Parameter flags: As of `open`.
    func create(
        _ reply: consuming Reply, _ name: FileName, in parent: InodeNumber, mode: mode_t,
        flags: CInt
    ) {
        readAhead.applyOnce()
        let caller = reply.caller
        let isExclusive = flags & O_EXCL != 0
        serve("create", parent, reply) { [engine] () throws(Halt) -> Attributes? in
            do throws(Halt) {
                return try engine.createFile(
                    name, in: parent, mode: UInt16(mode & 0o7777), caller: caller)
            } catch {
                guard !isExclusive, case .failure(let failure) = error, failure.kind == .exists
                else { throw error }
                return nil
            }
        } answer: { [engine, timeouts] reply, attributes in
            guard let attributes else {
                // The remote made it since the kernel looked. ESTALE has the kernel look again and
                // open what is there, with the permission check that creating does without.
                reply.fail(ESTALE)
                return
            }
            let entry = attributes.entry(timeouts)
            if !reply.created(entry, fuse_file_info(.write)) {
                engine.release(attributes.inode, access: .write)
            }
        }
    }

    func read(_ reply: consuming Reply, _ inode: InodeNumber, at offset: UInt64, length: Int) {
        serve("read", inode, reply) { [engine] () throws(Halt) in
            try engine.read(inode, at: offset, length: length)
        } answer: { [self] in
            answerContent($0, inode, $1, at: offset)
        }
    }

    private func answerContent(
        _ reply: consuming Reply, _ inode: InodeNumber, _ range: Engine.ReadableRange,
        at offset: UInt64
    ) {
        if range.count == 0 {
            return reply.bytes(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        let opened = Result { () throws(DiskError) in try range.file.openDescriptor() }
        switch opened {
        case .success(let descriptor?):
            reply.content(of: descriptor.rawValue, at: offset, count: range.count)
            withExtendedLifetime(descriptor) {}
        case .success(nil):
            answerCopy(reply, inode, range, at: offset)
        case .failure(let error):
            fail("read", inode, reply, EngineError(error, error.attempt))
        }
    }

    /// For files without a descriptor, such as simulated ones.
    private func answerCopy(
        _ reply: consuming Reply, _ inode: InodeNumber, _ range: Engine.ReadableRange,
        at offset: UInt64
    ) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: range.count, alignment: 16)
        defer { buffer.deallocate() }
        let read = Result { () throws(DiskError) in try range.file.read(into: buffer, at: offset) }
        switch read {
        case .success(let count):
            reply.bytes(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        case .failure(let error):
            fail("read", inode, reply, EngineError(error, error.attempt))
        }
    }

    /// - Parameter bytes: Live until the callback returns.
    func write(
        _ reply: consuming Reply, _ inode: InodeNumber, _ bytes: UnsafeRawBufferPointer,
        at offset: UInt64
    ) {
        trace("write", inode)
        let engine = engine
        let count = bytes.count
        let written = Result { () throws(Halt) in try engine.write(inode, bytes, at: offset) }
        switch written {
        case .success:
            reply.written(count)
        case .failure(.failure(let error)):
            fail("write", inode, reply, error)
        case .failure(.awaits):
            let copy = Array(bytes)
            finishLater("write", inode, reply) { () throws(Halt) in
                try copy.withUnsafeBytes { bytes in
                    Result { () throws(Halt) in try engine.write(inode, bytes, at: offset) }
                }.get()
            } answer: { reply, _ in
                reply.written(count)
            }
        }
    }

    func flush(_ reply: consuming Reply, _ inode: InodeNumber, handle: UInt64) {
        guard Engine.Access(handle: handle) == .write else {
            reply.succeed()
            return
        }
        serve("flush", inode, reply) { [engine] () throws(Halt) in
            try engine.flush(inode)
        } answer: { reply, _ in
            reply.succeed()
        }
    }

    /// For files and directories.
    func synchronize(_ reply: consuming Reply, _ inode: InodeNumber) {
        serve("fsync", inode, reply) { [engine] () throws(Halt) in
            try engine.synchronize(inode)
        } answer: { reply, _ in
            reply.succeed()
        }
    }

    func release(_ reply: consuming Reply, _ inode: InodeNumber, handle: UInt64) {
        trace("release", inode)
        engine.release(inode, access: Engine.Access(handle: handle))
        reply.succeed()
    }
}

extension Engine.Access {
    /// - Parameter flags: As of `open`.
    init(openFlags flags: CInt) {
        // Linux truncates at `open` whatever the access mode says.
        self = flags & O_ACCMODE == O_RDONLY && flags & O_TRUNC == 0 ? .read : .write
    }

    /// - Parameter handle: As given to the kernel by ``fuse_file_info/init(_:)``.
    init(handle: UInt64) {
        guard let access = Self(rawValue: handle) else {
            preconditionFailure("the kernel returns handles as they were given: \(handle)")
        }
        self = access
    }
}

extension fuse_file_info {
    /// What the kernel is told of an open file.
    init(_ access: Engine.Access) {
        self.init()
        fh = access.rawValue
        // An inode's bytes change through the kernel only: what the remote changes becomes a new
        // inode. So cached pages stay right from one open to the next.
        keep_cache = 1
        // Only writers have something to flush.
        if access == .read { apus_file_info_set_noflush(&self) }
    }
}
