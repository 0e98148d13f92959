import Engine
import ProviderSupport
import Transport

/// The responses in the body of a multistatus, parsed as they are requested, so that memory grows
/// neither with their number nor with the consumer's pauses.
final class Multistatus: @unchecked Sendable {  // sound: used by one task at a time
    private static let pieceBytes = 64 << 10

    private let body: SpooledBody
    private let parser: MultistatusParser
    private var offset = 0
    private var isFinished = false

    init(_ body: SpooledBody) throws(ProviderError) {
        self.body = body
        do {
            parser = try MultistatusParser()
        } catch {
            throw Self.unreadable(error)
        }
    }

    /// Returns the next response; nil after the last one.
    ///
    /// - Throws: `.corrupt` if the body is not a complete multistatus.
    func next() throws(ProviderError) -> WebDAVEntry? {
        while true {
            if let entry = parser.pop() { return entry }
            if isFinished { return nil }
            try parsePiece()
        }
    }

    private func parsePiece() throws(ProviderError) {
        let piece: [UInt8]
        do {
            piece = try body.bytes(at: offset, max: Self.pieceBytes)
        } catch {
            throw ProviderError(
                .busy, "the server's answer cannot be read back: \(error)", cause: error)
        }
        offset += piece.count
        isFinished = piece.isEmpty
        do {
            try parser.feed(piece)
            if isFinished { try parser.finish() }
        } catch {
            throw Self.unreadable(error)
        }
    }

    private static func unreadable(_ error: XMLError) -> ProviderError {
        ProviderError(.corrupt, "the server's answer cannot be read: \(error)")
    }
}
