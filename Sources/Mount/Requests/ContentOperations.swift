import CFuse
import Engine
import Glibc
import Meters
import Synchronization

/// A handle (`fh`) is just the access mode that it was opened with, so that a process that takes
/// over from a killed one understands all handles.
extension fuse_lowlevel_ops {
    mutating func addHandles() {
        open = { request, inode, info in
            let request = Request(request, .open, inode)
            let flags = info!.pointee.flags
            let mode = FileAccess(openFlags: flags)
            let isScan = mode == .read && request.server.scanners.contain(request.reply.thread)
            let access = isScan ? .scan : mode
            let thread = request.reply.thread
            let clearsSetID = flags & apus_clears_set_id != 0
            request.server.readAhead.applyOnce()
            request.serve { (engine, inode) throws(Blocked) in
                try engine.open(
                    inode, access: access, truncating: flags & O_TRUNC != 0,
                    clearsSetID: clearsSetID, by: { RunningProgram(thread)?.name })
            } answer: { request, _ in
                request.answerOpened(access, flags: flags)
            }
        }
        create = { request, parent, name, mode, info in
            let flags = info!.pointee.flags
            Request(request, .create, parent).naming(name) { request, name in
                request.create(name, mode: mode, flags: flags)
            }
        }
        // No `flush`, which the kernel then asks for once: written bytes survive `kill -9` before their
        // write is answered (I1), and its own dirty pages are written at a close all the same.
        release = { request, inode, info in
            let request = Request(request, .release, inode)
            request.trace()
            request.server.release(
                request.inode, access: FileAccess(handle: info!.pointee.fh))
            request.reply.succeed()
        }
    }

    mutating func addContent() {
        read = { request, inode, length, offset, info in
            let offset = UInt64(clamping: offset)
            // None if the kernel asks for pages of a file that it keeps without a handle.
            let access = info.map { FileAccess(handle: $0.pointee.fh) } ?? .read
            Request(request, .read, inode).serve { (engine, inode) throws(Blocked) in
                try engine.read(inode, at: offset, length: length, access: access)
            } answer: { request, range in
                request.answer(range, at: offset)
            }
        }
        write = { request, inode, bytes, count, offset, info in
            Request(request, .write, inode).write(
                UnsafeRawBufferPointer(start: bytes, count: count), at: UInt64(clamping: offset),
                clearsSetID: info!.pointee.flags & apus_clears_set_id != 0)
        }
        fsync = { request, inode, _, _ in
            Request(request, .fsync, inode).synchronize()
        }
    }
}

extension RequestServer {
    /// Releases a handle. Mounts that lend files create none, so each was opened.
    fileprivate func release(_ inode: InodeNumber, access: FileAccess) {
        lender.close(inode)
        engine.release(inode, access: access)
    }

    /// Whether reads of a new handle pass the kernel's cache, which reads whole pages and reads ahead.
    fileprivate func isUncached(_ inode: InodeNumber, _ access: FileAccess) -> Bool {
        switch access {
        case .write: false
        case .read: engine.hasLostBytes(inode)
        // The ranges that it reads, and no more. Older kernels would refuse to map the file as shared.
        case .scan:
            mapsUncachedFiles.load(ordering: .relaxed)
                ? engine.isMissingBytes(inode) : engine.hasLostBytes(inode)
        }
    }
}

extension Request {
    /// Answers with a handle of a file that was opened.
    ///
    /// - Parameter flags: Those of `open`.
    fileprivate consuming func answerOpened(_ access: FileAccess, flags: CInt) {
        let (server, inode) = (server, inode)
        let isDirect = flags & apus_o_direct != 0
        let isOpened: Bool
        if let file = server.lender.open(inode, of: server.engine, isDirect: isDirect) {
            isOpened = reply.lent(access, file, asks: isDirect)
        } else {
            var info = fuse_file_info(access)
            if server.isUncached(inode, access) { info.direct_io = 1 }
            isOpened = reply.opened(info)
        }
        // Interrupted in between: no RELEASE will come.
        if !isOpened { server.release(inode, access: access) }
    }

    /// - Parameter flags: Those of `open`.
    fileprivate consuming func create(_ name: FileName, mode: mode_t, flags: CInt) {
        server.readAhead.applyOnce()
        let caller = reply.caller
        let isExclusive = flags & O_EXCL != 0
        serve { (engine, parent) throws(Blocked) -> Attributes? in
            do throws(Blocked) {
                return try engine.createFile(
                    name, in: parent, mode: UInt16(mode & 0o7777), caller: caller)
            } catch {
                guard !isExclusive, case .failure(let failure) = error, failure.kind == .exists
                else { throw error }
                return nil
            }
        } answer: { request, attributes in
            guard let attributes else {
                // A remote change created it after the kernel's lookup. ESTALE makes the kernel
                // look the name up again and open the file, with the permission check that
                // creating skips.
                request.reply.fail(ESTALE)
                return
            }
            let server = request.server
            let entry = attributes.entry(server.form)
            request.answer(name, attributes) { reply in
                if !reply.created(entry, fuse_file_info(.write)) {
                    server.engine.release(attributes.inode, access: .write)
                }
            }
        }
    }

    fileprivate consuming func answer(_ range: ReadableRange, at offset: UInt64) {
        // Its lease keeps the bytes until they are in the kernel.
        defer { withExtendedLifetime(range) {} }
        server.meter.readBytes.add(range.count)
        if range.count == 0 {
            return reply.bytes(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        let opened = Result { () throws(DiskError) in try range.file.openDescriptor() }
        switch opened {
        case .success(let descriptor?):
            reply.content(of: descriptor.rawValue, at: offset, count: range.count)
            withExtendedLifetime(descriptor) {}
        case .success(nil):
            answerCopy(range, at: offset)
        case .failure(let error):
            fail(EngineError(error, error.attempt))
        }
    }

    /// Answers for a file without a descriptor, such as a simulated one.
    private consuming func answerCopy(_ range: ReadableRange, at offset: UInt64) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: range.count, alignment: 16)
        defer { buffer.deallocate() }
        let read = Result { () throws(DiskError) in try range.file.read(into: buffer, at: offset) }
        switch read {
        case .success(let count): reply.bytes(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        case .failure(let error): fail(EngineError(error, error.attempt))
        }
    }

    /// - Parameter bytes: Valid until the callback returns.
    fileprivate consuming func write(
        _ bytes: UnsafeRawBufferPointer, at offset: UInt64, clearsSetID: Bool
    ) {
        trace()
        let (engine, inode, count) = (server.engine, inode, bytes.count)
        server.meter.writtenBytes.add(count)
        let written = Result { () throws(Blocked) in
            try engine.write(inode, bytes, at: offset, clearsSetID: clearsSetID)
        }
        switch written {
        case .success: reply.written(count)
        case .failure(.failure(let error)): fail(error)
        case .failure(.awaits(let need)):
            let copy = Array(bytes)
            finishLater(need) { () throws(Blocked) in
                try copy.withUnsafeBytes { bytes in
                    Result { () throws(Blocked) in try engine.write(inode, bytes, at: offset) }
                }.get()
            } answer: { request, _ in
                request.reply.written(count)
            }
        }
    }

    /// Serves fsync and fsyncdir: on this thread, or as a task if too many threads wait for the disk.
    consuming func synchronize() {
        let (server, inode) = (server, inode)
        if server.syncThreads.enter() {
            synchronizeHere()
            return server.syncThreads.leave()
        }
        guard case .admitted(let ticket) = server.syncs.admit() else { return reply.fail(ENOTCONN) }
        // The kernel holds locks of the inode until the answer.
        let wait = server.notifier.begin(waitingAt: [inode])
        let slot = RequestSlot(self)
        server.syncs.start(ticket) {
            defer { server.notifier.end(wait) }
            slot.take()?.synchronizeHere()
        }
    }

    private consuming func synchronizeHere() {
        serve { (engine, inode) throws(Blocked) in
            try engine.synchronize(inode)
        }
    }
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
        // Only writers may have dirty pages in the kernel.
        if access != .write { apus_file_info_set_noflush(&self) }
    }
}
