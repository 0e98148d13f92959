import CLinux
import Glibc
import SystemCalls

/// Copies a file's bytes into an empty file, with the source's holes.
///
/// The bytes must not change meanwhile. After a failure the target has some of them.
struct SparseCopy {
    /// Whether to try `copy_file_range` before copying through a buffer.
    var usesKernel = true
    /// Whether to ask the file system for the source's holes; otherwise all bytes are copied.
    var findsHoles = true

    private static let bufferBytes = 256 * 1_024

    func copy(_ source: Int32, to target: Int32) throws(SystemError) {
        var status = stat()
        if fstat(source, &status) != 0 { throw .last }
        let size = Int64(status.st_size)
        _ = try retryingInterrupts { ftruncate(target, off_t(size)) }
        try copy(0..<size, of: source, to: target)
    }

    /// Copies the bytes of a range to the same place.
    func copy(
        _ range: Range<Int64>, of source: Int32, to target: Int32
    ) throws(SystemError) {
        var rest = range
        while !rest.isEmpty, let extent = try extent(of: source, in: rest) {
            try copy(extent, from: source, to: target)
            rest = extent.upperBound..<range.upperBound
        }
    }

    /// The next part of a range with data; nil if there is only a hole left.
    private func extent(
        of source: Int32, in range: Range<Int64>
    ) throws(SystemError) -> Range<Int64>? {
        guard findsHoles else { return range }
        let offset = range.lowerBound
        // This moves the file's position, which is not used: reads and writes name their offset.
        let start = lseek(source, off_t(offset), apus_seek_data)
        if start < 0 {
            let error = SystemError.last
            switch error.code {
            case ENXIO: return nil
            case EINVAL, EOPNOTSUPP: return range
            default: throw error
            }
        }
        if Int64(start) >= range.upperBound { return nil }
        let end = lseek(source, start, apus_seek_hole)
        if end < 0 { throw .last }
        return Int64(start)..<min(Int64(end), range.upperBound)
    }

    private func copy(
        _ extent: Range<Int64>, from source: Int32, to target: Int32
    ) throws(SystemError) {
        var offset = extent.lowerBound
        if usesKernel {
            while offset < extent.upperBound,
                let count = try copyInKernel(offset..<extent.upperBound, from: source, to: target)
            {
                offset += count
            }
        }
        if offset < extent.upperBound {
            try copyThroughBuffer(offset..<extent.upperBound, from: source, to: target)
        }
    }

    /// - Returns: The bytes copied, at least one; nil if the kernel cannot copy between these files.
    private func copyInKernel(
        _ range: Range<Int64>, from source: Int32, to target: Int32
    ) throws(SystemError) -> Int64? {
        let count: Int
        do {
            count = try retryingInterrupts {
                apus_copy_range(source, range.lowerBound, target, range.lowerBound, range.count)
            }
        } catch {
            if [ENOSPC, EDQUOT, EIO, EFBIG].contains(error.code) { throw error }
            return nil
        }
        return count == 0 ? nil : Int64(count)
    }

    private func copyThroughBuffer(
        _ range: Range<Int64>, from source: Int32, to target: Int32
    ) throws(SystemError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Self.bufferBytes, alignment: 4_096)
        defer { buffer.deallocate() }
        var offset = range.lowerBound
        while offset < range.upperBound {
            let wanted = Int(min(range.upperBound - offset, Int64(buffer.count)))
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
            let count = try PosixIO.read(source, into: piece, at: offset)
            // The source became shorter meanwhile, so that the copy cannot be completed.
            if count == 0 { throw SystemError(EIO) }
            try PosixIO.write(target, UnsafeRawBufferPointer(rebasing: piece[..<count]), at: offset)
            offset += Int64(count)
        }
    }
}
