/// One picture for a worker; the bytes of its file follow.
package struct WorkerRequest: Codable {
    package var filters: [Filter]
    package var quality: Int?
    package var format: ImageFormat
    package var byteCount: Int
    package var pixelsMax: Int
    package var secondsMax: Int
}

/// A worker's message.
package enum WorkerReply: Codable {
    /// The first one, before any picture, with the version of libvips, such as `8.14.1`.
    case ready(version: String)
    /// The bytes of the new file follow.
    case rendered(byteCount: Int)
    case failed(ImageError)
}
