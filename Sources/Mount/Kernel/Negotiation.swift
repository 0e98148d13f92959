import CFuse

extension fuse_conn_info {
    /// A write brings at most this many bytes: the most that the kernel allows.
    static let writeBytesMax: CUnsignedInt = 1 << 20

    /// A read asks for at most this many bytes. Answers are spliced, through a pipe that may hold
    /// 1 MiB with its header; larger ones are copied, at half the speed.
    static let readBytesMax: CUnsignedInt = 1 << 19

    /// Chooses what this session and the kernel do for each other.
    mutating func negotiate(cachesSymlinks: Bool) {
        want(
            FUSE_CAP_ASYNC_READ,
            FUSE_CAP_PARALLEL_DIROPS,
            FUSE_CAP_READDIRPLUS,
            // Attributes with a listing only for those who ask for attributes.
            FUSE_CAP_READDIRPLUS_AUTO,
            FUSE_CAP_ATOMIC_O_TRUNC,
            FUSE_CAP_ASYNC_DIO,
            FUSE_CAP_EXPORT_SUPPORT,
            // Bytes of an inode change through the kernel only.
            FUSE_CAP_EXPLICIT_INVAL_DATA,
            FUSE_CAP_SPLICE_WRITE)
        refuse(
            FUSE_CAP_AUTO_INVAL_DATA,
            // A write is in the engine when it returns (I1), not in the kernel's cache.
            FUSE_CAP_WRITEBACK_CACHE,
            // The kernel takes set-user-ID bits away on a write, with a SETATTR.
            FUSE_CAP_HANDLE_KILLPRIV,
            FUSE_CAP_DONT_MASK,
            FUSE_CAP_IOCTL_DIR)
        if cachesSymlinks {
            want(FUSE_CAP_CACHE_SYMLINKS)
        } else {
            refuse(FUSE_CAP_CACHE_SYMLINKS)
        }
        max_write = min(max_write, Self.writeBytesMax)
        // The same as the mount option of this name, or libfuse refuses.
        max_read = Self.readBytesMax
        // Read-ahead of several readers waits for the network side by side.
        max_background = 64
        congestion_threshold = 48
    }

    private mutating func want(_ capabilities: CInt...) {
        for capability in capabilities { want |= capable & CUnsignedInt(capability) }
    }

    private mutating func refuse(_ capabilities: CInt...) {
        for capability in capabilities { want &= ~CUnsignedInt(capability) }
    }
}
