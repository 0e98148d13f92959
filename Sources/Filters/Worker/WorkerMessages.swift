/// One picture for a worker; the bytes of its file follow.
struct WorkerRequest: Codable {
    var filters: [Filter]
    var quality: Int?
    var format: ImageFormat
    var byteCount: Int
    var pixelsMax: Int
    var secondsMax: Int
}

/// A worker's message.
enum WorkerReply: Codable {
    /// The first one, before any picture.
    case ready
    /// The bytes of the new file follow.
    case rendered(byteCount: Int)
    case failed(ImageError)
}
