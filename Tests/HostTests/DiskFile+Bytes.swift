import Engine

/// Whole arrays, for tests.
extension DiskFile {
    func write(_ bytes: [UInt8], at offset: UInt64) throws {
        try bytes.withUnsafeBytes { try write($0, at: offset) }
    }

    func read(_ count: Int, at offset: UInt64) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0xEE, count: count)
        let done = try buffer.withUnsafeMutableBytes { try read(into: $0, at: offset) }
        return Array(buffer.prefix(done))
    }
}
