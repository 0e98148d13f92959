import CFuse
import Engine

/// The answer owed to one kernel request.
///
/// At most once: every answer consumes the value. At least once: a dropped reply answers EIO.
/// An escaping closure cannot consume it, so the slot of a ``Request`` carries it into a task.
struct Reply: ~Copyable, @unchecked Sendable {  // sound: libfuse accepts a reply on any thread
    private let request: fuse_req_t

    /// Takes over the obligation to answer `request`.
    init(_ request: fuse_req_t) {
        self.request = request
    }

    deinit {
        fuse_reply_err(request, EIO)
    }

    /// The calling user, who will own a new file.
    var caller: Caller {
        let context = fuse_req_ctx(request)
        return Caller(userID: context?.pointee.uid ?? 0, groupID: context?.pointee.gid ?? 0)
    }

    /// The calling thread; 0 if it is outside this process's PID namespace.
    var thread: pid_t { fuse_req_ctx(request)?.pointee.pid ?? 0 }

    /// Registers a handler for the kernel's INTERRUPT, and calls it at once if that has arrived.
    ///
    /// libfuse may still call the handler while the reply is sent on another thread. It therefore
    /// gets the number of a ticket, which may be obsolete by then, instead of a pointer.
    borrowing func onInterrupt(
        _ ticket: RequestTicket, _ handler: @escaping fuse_interrupt_func_t
    ) {
        fuse_req_interrupt_func(request, handler, ticket.pointer)
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

    /// - Returns: Whether the kernel accepted it; only then does it send a RELEASE.
    consuming func created(_ entry: fuse_entry_param, _ handle: fuse_file_info) -> Bool {
        var entry = entry
        var handle = handle
        let result = fuse_reply_create(request, &entry, &handle)
        discard self
        return result == 0
    }

    /// - Returns: Whether the kernel accepted it; only then does it send a RELEASE.
    @discardableResult
    consuming func opened(_ handle: fuse_file_info) -> Bool {
        var handle = handle
        let result = fuse_reply_open(request, &handle)
        discard self
        return result == 0
    }

    /// - Parameters:
    ///   - file: The number by which the kernel knows the file that it is to read by itself.
    ///   - asks: Whether it is to send requests nevertheless, except for memory maps.
    /// - Returns: Whether the kernel accepted it; only then does it send a RELEASE.
    consuming func lent(_ access: FileAccess, _ file: CInt, asks: Bool) -> Bool {
        let result = apus_reply_lent(request, access.rawValue, file, asks ? 1 : 0)
        discard self
        return result == 0
    }

    consuming func attributes(_ attributes: Attributes, _ form: AttributeForm) {
        var status = attributes.status(form.ownership)
        fuse_reply_attr(request, &status, form.timeouts.seconds(for: attributes))
        discard self
    }

    consuming func bytes(_ bytes: UnsafeRawBufferPointer) {
        fuse_reply_buf(
            request, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
        discard self
    }

    /// Answers with the bytes of a file from `offset` on, which do not pass through Swift.
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

    /// Answers with the target of a symbolic link.
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

    /// Answers getxattr and listxattr: with the bytes, or only their number if `room` is 0.
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
