import CFuse
import Engine
import Glibc

/// The operations on content.
///
/// A handle (`fh`) is just the access mode that it was opened with, so that a process that takes
/// over from a killed one understands all handles.
struct ContentOperations {
    let server: RequestServer

    private var engine: Engine { server.engine }

    /// - Parameter flags: Those of `open`, without O_CREAT and O_EXCL.
    func open(_ reply: consuming Reply, _ inode: InodeNumber, flags: CInt) {
        server.readAhead.applyOnce()
        let access = FileAccess(openFlags: flags)
        let truncating = flags & O_TRUNC != 0
        server.serve("open", inode, reply) { [engine] () throws(Blocked) in
            try engine.open(inode, access: access, truncating: truncating)
        } answer: { [engine] reply, _ in
            // Interrupted in between: no RELEASE will come.
            if !reply.opened(fuse_file_info(access)) { engine.release(inode, access: access) }
        }
    }

    /// - Parameter flags: Those of `open`.
    func create(
        _ reply: consuming Reply, _ name: FileName, in parent: InodeNumber, mode: mode_t,
        flags: CInt
    ) {
        server.readAhead.applyOnce()
        let caller = reply.caller
        let isExclusive = flags & O_EXCL != 0
        server.serve("create", parent, reply) { [engine] () throws(Blocked) -> Attributes? in
            do throws(Blocked) {
                return try engine.createFile(
                    name, in: parent, mode: UInt16(mode & 0o7777), caller: caller)
            } catch {
                guard !isExclusive, case .failure(let failure) = error, failure.kind == .exists
                else { throw error }
                return nil
            }
        } answer: { [engine, timeouts = server.timeouts] reply, attributes in
            guard let attributes else {
                // A remote change created it after the kernel's lookup. ESTALE makes the kernel
                // look the name up again and open the file, with the permission check that
                // creating skips.
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
        server.serve("read", inode, reply) { [engine] () throws(Blocked) in
            try engine.read(inode, at: offset, length: length)
        } answer: { [self] in
            answerContent($0, inode, $1, at: offset)
        }
    }

    private func answerContent(
        _ reply: consuming Reply, _ inode: InodeNumber, _ range: ReadableRange,
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
            server.fail("read", inode, reply, EngineError(error, error.attempt))
        }
    }

    /// Answers for a file without a descriptor, such as a simulated one.
    private func answerCopy(
        _ reply: consuming Reply, _ inode: InodeNumber, _ range: ReadableRange,
        at offset: UInt64
    ) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: range.count, alignment: 16)
        defer { buffer.deallocate() }
        let read = Result { () throws(DiskError) in try range.file.read(into: buffer, at: offset) }
        switch read {
        case .success(let count):
            reply.bytes(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        case .failure(let error):
            server.fail("read", inode, reply, EngineError(error, error.attempt))
        }
    }

    /// - Parameter bytes: Valid until the callback returns.
    func write(
        _ reply: consuming Reply, _ inode: InodeNumber, _ bytes: UnsafeRawBufferPointer,
        at offset: UInt64
    ) {
        server.trace("write", inode)
        let engine = engine
        let count = bytes.count
        let written = Result { () throws(Blocked) in try engine.write(inode, bytes, at: offset) }
        switch written {
        case .success:
            reply.written(count)
        case .failure(.failure(let error)):
            server.fail("write", inode, reply, error)
        case .failure(.awaits(let need)):
            let copy = Array(bytes)
            server.finishLater("write", inode, reply, need) { () throws(Blocked) in
                try copy.withUnsafeBytes { bytes in
                    Result { () throws(Blocked) in try engine.write(inode, bytes, at: offset) }
                }.get()
            } answer: { reply, _ in
                reply.written(count)
            }
        }
    }

    func flush(_ reply: consuming Reply, _ inode: InodeNumber, handle: UInt64) {
        guard FileAccess(handle: handle) == .write else {
            reply.succeed()
            return
        }
        server.serve("flush", inode, reply) { [engine] () throws(Blocked) in
            try engine.flush(inode)
        } answer: { reply, _ in
            reply.succeed()
        }
    }

    /// Serves fsync and fsyncdir.
    func synchronize(_ reply: consuming Reply, _ inode: InodeNumber) {
        server.serve("fsync", inode, reply) { [engine] () throws(Blocked) in
            try engine.synchronize(inode)
        } answer: { reply, _ in
            reply.succeed()
        }
    }

    func release(_ reply: consuming Reply, _ inode: InodeNumber, handle: UInt64) {
        server.trace("release", inode)
        engine.release(inode, access: FileAccess(handle: handle))
        reply.succeed()
    }
}

extension RequestServer {
    var content: ContentOperations { ContentOperations(server: self) }
}

extension FileAccess {
    /// - Parameter flags: Those of `open`.
    init(openFlags flags: CInt) {
        // Linux truncates at `open` regardless of the access mode.
        self = flags & O_ACCMODE == O_RDONLY && flags & O_TRUNC == 0 ? .read : .write
    }

    /// - Parameter handle: A handle from ``fuse_file_info/init(_:)``.
    init(handle: UInt64) {
        guard let access = Self(rawValue: handle) else {
            preconditionFailure("the kernel returns handles as they were given: \(handle)")
        }
        self = access
    }
}

extension fuse_file_info {
    /// The answer for a newly opened file.
    init(_ access: FileAccess) {
        self.init()
        fh = access.rawValue
        // The bytes of an inode change only through the kernel, as a remote change makes a new
        // inode. Cached pages therefore stay valid from one open to the next.
        keep_cache = 1
        // Only writers have anything to flush.
        if access == .read { apus_file_info_set_noflush(&self) }
    }
}
