import Engine
import Synchronization

/// Remembers the ranges of staged files that a server has stored, so that an interrupted upload does not
/// read them back each time.
///
/// A server that answers has the bytes in its memory; its disk has them a while later. So a range counts if the
/// server lived ``storeTime`` after it, as it answered for another one of the same try: whatever has
/// interrupted the upload came later than that. Forgotten when the process ends.
final class StoredRanges: Sendable {
    /// The ranges that a server has in its memory at least.
    struct Known {
        var stored: Set<Range<UInt64>> = []
        /// Those of the last try whose bytes may have been lost since.
        var answered: Set<Range<UInt64>> = []
    }

    private struct File {
        var stored: Set<Range<UInt64>> = []
        /// The other ranges of the current try, with the time of the answer.
        var answered: [Range<UInt64>: Duration] = [:]
        /// The last time at which the server is known to have lived.
        var lastSign = Duration.zero
    }

    /// Linux begins to write changed pages to the disk after half a minute.
    static let storeTime: Duration = .seconds(300)

    private let files = Mutex<[ObjectKey: File]>([:])

    /// Begins a try to send a file. The server may have lost power since the last one.
    func begin(_ staged: ObjectKey) -> Known {
        files.withLock { files in
            guard var file = files[staged] else { return Known() }
            for (range, time) in file.answered where file.lastSign - time >= Self.storeTime {
                file.stored.insert(range)
            }
            let known = Known(
                stored: file.stored,
                answered: Set(file.answered.keys).subtracting(file.stored))
            file.answered = [:]
            files[staged] = file
            return known
        }
    }

    /// Records that the server has a range: it has acknowledged it, or sent it back.
    ///
    /// - Parameters:
    ///   - start: The time at which the request began. The server lived later than that; how much later
    ///     is unknown, as its answer may have waited to be received.
    ///   - end: The time at which the answer was received.
    func note(
        _ range: Range<UInt64>, of staged: ObjectKey, from start: Duration, until end: Duration
    ) {
        files.withLock { files in
            var file = files[staged, default: File()]
            file.answered[range] = end
            file.lastSign = max(file.lastSign, start)
            files[staged] = file
        }
    }

    func forget(_ staged: ObjectKey) {
        files.withLock { _ = $0.removeValue(forKey: staged) }
    }
}
