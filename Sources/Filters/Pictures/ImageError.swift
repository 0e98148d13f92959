/// The reason an image could not be filtered; the file is unchanged.
package struct ImageError: Error, Hashable, Codable {
    package enum Kind: String, Hashable, Sendable, Codable {
        /// Decoding fails, or reports errors.
        case damaged
        /// The image is intact, but writing it back would lose something.
        case unsupported
        /// The libraries of this machine cannot write the format.
        case encoderMissing
        /// The picture exceeds ``PictureLimits/pixelsMax``.
        case tooLarge
        /// Decoding exceeds ``PictureLimits/memoryBytesMax``.
        case outOfMemory
        /// Decoding exceeds ``PictureLimits/secondsMax``.
        case timedOut
        /// The process that decoded the picture ended.
        case crashed
        /// libvips failed for another reason.
        case failed
    }

    package let kind: Kind
    /// One line, for the user.
    package let reason: String

    /// The kind and the reason in one line.
    package var message: String {
        switch kind {
        case .damaged: "damaged, left unchanged (\(reason))"
        case .unsupported: "not supported, left unchanged: \(reason)"
        case .tooLarge, .outOfMemory, .timedOut, .crashed: "left unchanged: \(reason)"
        case .encoderMissing, .failed: reason
        }
    }

    package init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }
}
