/// Bytes that identify the program and version that wrote them.
enum ProgramBytes {
    /// The value of an extended attribute, of up to 40 bytes.
    static func attribute(seed: UInt64) -> [UInt8] { make(Int(seed % 41), seed: seed) }

    /// `count` bytes that no other seed gives.
    static func make(_ count: Int, seed: UInt64) -> [UInt8] {
        var generator = SeededGenerator(seed: seed)
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            var index = 0
            while index < count {
                let word = generator.next()
                withUnsafeBytes(of: word) { bytes in
                    let part = min(8, count - index)
                    for position in 0..<part { buffer[index + position] = bytes[position] }
                }
                index += 8
            }
            filled = count
        }
    }
}

extension [UInt8] {
    /// Writes bytes into the content of a file. A gap before them is filled with zeros.
    mutating func write(_ bytes: [UInt8], at offset: Int) {
        if count < offset + bytes.count { resize(to: offset + bytes.count) }
        replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }

    mutating func resize(to size: Int) {
        if size < count {
            removeLast(count - size)
        } else {
            self += [UInt8](repeating: 0, count: size - count)
        }
    }
}

/// A hash of some bytes; two different contents have the same one with a probability of 2^-64.
struct ContentMark: Hashable, Sendable {
    private let hash: Int
    private let count: Int

    init(_ bytes: [UInt8]) {
        var hasher = Hasher()
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        hash = hasher.finalize()
        count = bytes.count
    }
}
