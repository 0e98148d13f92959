import Foundation

/// Writes a tar archive of texts, in the format `ustar` of POSIX.
struct TarArchive {
    private static let blockBytes = 512

    private(set) var bytes: [UInt8] = []
    private let time: Int

    /// - Parameter time: That of all files, in seconds since 1970.
    init(time: Int) {
        self.time = time
    }

    /// - Parameter name: At most 100 bytes.
    mutating func add(_ name: String, _ text: String) {
        let content = Array(text.utf8)
        bytes += header(name, size: content.count)
        bytes += content
        pad()
    }

    /// Returns the archive with its end.
    func finished() -> [UInt8] { bytes + [UInt8](repeating: 0, count: 2 * Self.blockBytes) }

    private mutating func pad() {
        let rest = bytes.count % Self.blockBytes
        if rest > 0 { bytes += [UInt8](repeating: 0, count: Self.blockBytes - rest) }
    }

    private func header(_ name: String, size: Int) -> [UInt8] {
        var block = [UInt8](repeating: 0, count: Self.blockBytes)
        func put(_ text: String, at offset: Int) {
            for (index, byte) in text.utf8.enumerated() { block[offset + index] = byte }
        }
        func octal(_ number: Int, _ digits: Int) -> String {
            let text = String(number, radix: 8)
            return String(repeating: "0", count: max(0, digits - text.count)) + text
        }
        put(name, at: 0)
        put(octal(0o600, 7), at: 100)
        put(octal(0, 7), at: 108)
        put(octal(0, 7), at: 116)
        put(octal(size, 11), at: 124)
        put(octal(time, 11), at: 136)
        put(String(repeating: " ", count: 8), at: 148)
        put("0", at: 156)
        put("ustar", at: 257)
        put("00", at: 263)
        let sum = block.reduce(0) { $0 + Int($1) }
        put(octal(sum, 6) + "\0 ", at: 148)
        return block
    }
}
