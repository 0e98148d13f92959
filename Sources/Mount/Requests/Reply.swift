import CFuse
import Engine

/// The answer owed to one kernel request.
///
/// At most once: every answer consumes the value. At least once: a dropped one answers EIO.
/// An escaping closure cannot consume it, so it enters a task in a ``ReplySlot``.
struct Reply: ~Copyable, @unchecked Sendable {  // sound: libfuse takes a reply on any thread
    private let request: fuse_req_t

    /// Takes over the duty to answer `request`.
    init(_ request: fuse_req_t) {
        self.request = request
    }

    deinit {
        fuse_reply_err(request, EIO)
    }

    /// Who asks, for what it makes.
    var caller: Caller {
        let context = fuse_req_ctx(request)
        return Caller(userID: context?.pointee.uid ?? 0, groupID: context?.pointee.gid ?? 0)
    }

    /// The thread that asks, as this process knows it; 0 where it cannot.
    var thread: pid_t { fuse_req_ctx(request)?.pointee.pid ?? 0 }

    /// Has the task behind `ticket` cancelled once the kernel interrupts the request, at once if it
    /// already has.
    ///
    /// libfuse may still call the handler while the reply is sent on another thread. So what it is
    /// given is no pointer to anything, only a number that ``RequestTasks`` may have forgotten.
    borrowing func onInterrupt(cancel ticket: RequestTicket) {
        fuse_req_interrupt_func(
            request,
            { request, data in
                guard let request, let data else { return }
                let ticket = RequestTicket(rawValue: UInt(bitPattern: data))
                RequestServer.serving(request).tasks.cancel(ticket)
            },
            UnsafeMutableRawPointer(bitPattern: ticket.rawValue))
    }

    // MARK: Answers

    consuming func fail(_ errno: CInt) {
        fuse_reply_err(request, errno)
        discard self
    }

    consuming func succeed() {
        fuse_reply_err(request, 0)
        discard self
    }

    /// The only answer to FORGET.
    consuming func none() {
        fuse_reply_none(request)
        discard self
    }

    consuming func entry(_ entry: fuse_entry_param) {
        var entry = entry
        fuse_reply_entry(request, &entry)
        discard self
    }

    /// - Returns: Whether the kernel took it; it sends a RELEASE only then.
    consuming func created(_ entry: fuse_entry_param, _ handle: fuse_file_info) -> Bool {
        var entry = entry
        var handle = handle
        let result = fuse_reply_create(request, &entry, &handle)
        discard self
        return result == 0
    }

    /// - Returns: Whether the kernel took it; it sends a RELEASE only then.
    @discardableResult
    consuming func opened(_ handle: fuse_file_info) -> Bool {
        var handle = handle
        let result = fuse_reply_open(request, &handle)
        discard self
        return result == 0
    }

    /// - Parameter timeout: How long the kernel may remember them, in seconds.
    consuming func attributes(_ attributes: Attributes, timeout: Double) {
        var status = attributes.status
        fuse_reply_attr(request, &status, timeout)
        discard self
    }

    consuming func bytes(_ bytes: UnsafeRawBufferPointer) {
        fuse_reply_buf(
            request, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
        discard self
    }

    /// Answers with what `descriptor` holds from `offset` on. The bytes do not pass through Swift.
    ///
    /// The descriptor stays open until this returns.
    consuming func content(of descriptor: CInt, at offset: UInt64, count: Int) {
        var vector = fuse_bufvec()
        vector.count = 1
        vector.buf.size = count
        vector.buf.flags = fuse_buf_flags(
            rawValue: FUSE_BUF_IS_FD.rawValue | FUSE_BUF_FD_SEEK.rawValue)
        vector.buf.fd = descriptor
        vector.buf.pos = off_t(clamping: offset)
        fuse_reply_data(request, &vector, fuse_buf_copy_flags(rawValue: 0))
        discard self
    }

    consuming func written(_ count: Int) {
        fuse_reply_write(request, count)
        discard self
    }

    /// Where a symbolic link points.
    consuming func target(_ target: [UInt8]) {
        let text = target.map { CChar(bitPattern: $0) } + [0]
        fuse_reply_readlink(request, text)
        discard self
    }

    consuming func statistics(_ statistics: statvfs) {
        var statistics = statistics
        fuse_reply_statfs(request, &statistics)
        discard self
    }

    /// Answers getxattr and listxattr: the bytes, or only how many there are where `room` is 0.
    consuming func extendedAttribute(_ bytes: [UInt8], room: Int) {
        if room == 0 {
            fuse_reply_xattr(request, bytes.count)
            discard self
        } else if bytes.count > room {
            fail(ERANGE)
        } else {
            bytes.withUnsafeBytes { bytes in
                _ = fuse_reply_buf(
                    request, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
            }
            discard self
        }
    }
}
