import CFuse

extension fuse_conn_info {
    /// The size limit of a write request: the most that the kernel allows.
    static let writeBytesMax: CUnsignedInt = 1 << 20

    /// The size limit of a read request. Answers are spliced through a pipe of at most 1 MiB,
    /// including the header; larger ones are copied, at half the speed.
    static let readBytesMax: CUnsignedInt = 1 << 19

    /// Chooses the features that this session and the kernel use.
    mutating func negotiate(cachesSymlinks: Bool) {
        want(
            FUSE_CAP_ASYNC_READ,
            FUSE_CAP_PARALLEL_DIROPS,
            FUSE_CAP_READDIRPLUS,
            // Listings include attributes only for programs that use them.
            FUSE_CAP_READDIRPLUS_AUTO,
            FUSE_CAP_ATOMIC_O_TRUNC,
            FUSE_CAP_ASYNC_DIO,
            FUSE_CAP_EXPORT_SUPPORT,
            // The bytes of an inode change only through the kernel.
            FUSE_CAP_EXPLICIT_INVAL_DATA,
            FUSE_CAP_SPLICE_WRITE)
        refuse(
            FUSE_CAP_AUTO_INVAL_DATA,
            // A write is in the engine when it returns (I1), not in the kernel's cache.
            FUSE_CAP_WRITEBACK_CACHE,
            // Its second version is negotiated instead, see CFuse.h; it needs requests in memory.
            FUSE_CAP_HANDLE_KILLPRIV,
            FUSE_CAP_SPLICE_READ,
            FUSE_CAP_DONT_MASK,
            FUSE_CAP_IOCTL_DIR)
        if cachesSymlinks {
            want(FUSE_CAP_CACHE_SYMLINKS)
        } else {
            refuse(FUSE_CAP_CACHE_SYMLINKS)
        }
        max_write = min(max_write, Self.writeBytesMax)
        // libfuse requires the value of the mount option with this name.
        max_read = Self.readBytesMax
        // The kernel reads files by requests that it holds back while this many are unanswered,
        // also those for local bytes: as many as may wait for the network.
        max_background = 4_096
        // Beyond, the kernel reads only the pages that programs wait for.
        congestion_threshold = 48
    }

    private mutating func want(_ capabilities: CInt...) {
        for capability in capabilities { want |= capable & CUnsignedInt(capability) }
    }

    private mutating func refuse(_ capabilities: CInt...) {
        for capability in capabilities { want &= ~CUnsignedInt(capability) }
    }
}
