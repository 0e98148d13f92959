/// The SHA-256 of a file's bytes. It shows whether a store holds the bytes that were sent, even if
/// the local ones have changed since.
struct ContentDigest: Hashable {
    let bytes: [UInt8]
}
