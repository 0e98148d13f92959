import Glibc

extension ImageError {
    package static func tooLarge(width: Int, height: Int, pixelsMax: Int) -> ImageError {
        ImageError(
            .tooLarge,
            "\(width) x \(height) pixels are more than the bound of \(pixelsMax); "
                + "allow more with --max-pixels")
    }

    static func timedOut(_ limits: PictureLimits) -> ImageError {
        ImageError(
            .timedOut,
            "not decoded and encoded after \(limits.secondsMax) s; allow more with --max-seconds")
    }

    /// - Parameter signal: The one that ended the process; nil if it exited.
    static func crashed(_ signal: Int32?) -> ImageError {
        let end = signal.map { "signal \($0), \(String(cString: strsignal($0)))" } ?? "it exited"
        // Libraries also crash if an allocation fails, by any signal.
        return ImageError(
            .crashed,
            "its decoder crashed (\(end)); allow more memory with --max-memory, or convert it with "
                + "another program first")
    }

    /// The error with the kind `.outOfMemory`, if the decoder's message speaks of that.
    package var withMemoryNamed: ImageError {
        guard kind == .damaged || kind == .failed, Self.isAboutMemory(reason) else { return self }
        return ImageError(
            .outOfMemory, "too little memory (\(reason)); allow more with --max-memory")
    }

    package static func isAboutMemory(_ reason: String) -> Bool {
        let words = reason.lowercased()
        return words.contains("memory") || words.contains("allocat")
    }

    /// The error with a reason that is safe for terminals: it comes from a process that may be hostile.
    var printable: ImageError {
        let scalars = reason.unicodeScalars.prefix(300).map { scalar in
            scalar.properties.generalCategory == .control ? "?" : scalar
        }
        return ImageError(kind, String(String.UnicodeScalarView(scalars)))
    }
}
