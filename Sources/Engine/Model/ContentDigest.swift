/// The SHA-256 of a file's bytes. It tells whether the bytes that a store holds are those that were
/// sent, when those that are here have changed since.
struct ContentDigest: Hashable {
    let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }
}
