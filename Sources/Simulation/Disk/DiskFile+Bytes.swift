package import Engine

/// Whole arrays, for tests.
extension DiskFile {
    package func write(_ bytes: [UInt8], at offset: UInt64) throws(DiskError) {
        try bytes.withUnsafeBufferPointer { (buffer) throws(DiskError) in
            try write(UnsafeRawBufferPointer(buffer), at: offset)
        }
    }

    /// - Returns: At most `count` bytes; fewer if the file ends.
    package func read(_ count: Int, at offset: UInt64) throws(DiskError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0xEE, count: count)
        let done = try bytes.withUnsafeMutableBufferPointer { (buffer) throws(DiskError) in
            try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
        }
        return Array(bytes.prefix(done))
    }
}
