import Glibc
import SystemCalls

/// Returns a small text file such as those of `/proc` and `/etc`, or nil if it cannot be read.
func readText(_ path: String) -> String? {
    guard let file = try? Descriptor(opening: path, flags: O_RDONLY) else { return nil }
    defer { withExtendedLifetime(file) {} }
    return String(decoding: readAll(file.rawValue), as: UTF8.self)
}

/// Returns the bytes from a descriptor's position to its end, or to the first failure.
func readAll(_ descriptor: CInt) -> [UInt8] {
    var bytes: [UInt8] = []
    while let more = try? PosixIO.readSome(descriptor), !more.isEmpty { bytes += more }
    return bytes
}
