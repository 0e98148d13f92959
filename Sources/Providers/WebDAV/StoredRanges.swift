import Engine
import Synchronization

/// Remembers the ranges of staged files that a server has stored for sure, so that an interrupted upload
/// does not read them back each time.
///
/// A server that answers has the bytes in its memory; its disk has them a while later. So a range counts if the
/// server answered for another one of the same file ``storeTime`` after it: whatever has interrupted the
/// upload came later than that. Forgotten when the process ends.
final class StoredRanges: Sendable {
    private struct File {
        var stored: Set<Range<UInt64>> = []
        /// The other ranges that the server has, with the time of its answer.
        var answered: [Range<UInt64>: Duration] = [:]
        var lastAnswer = Duration.zero
    }

    /// Linux writes changed pages to the disk after half a minute.
    static let storeTime: Duration = .seconds(120)

    private let clock: any Clock
    private let files = Mutex<[ObjectKey: File]>([:])

    init(clock: any Clock) {
        self.clock = clock
    }

    /// Begins a try to send a file, which the server may have forgotten parts of since the last one.
    ///
    /// - Returns: The ranges that it has stored.
    func begin(_ staged: ObjectKey) -> Set<Range<UInt64>> {
        files.withLock { files in
            guard var file = files[staged] else { return [] }
            for (range, time) in file.answered where file.lastAnswer - time >= Self.storeTime {
                file.stored.insert(range)
            }
            file.answered = [:]
            files[staged] = file
            return file.stored
        }
    }

    /// Records that the server has a range: it has acknowledged it, or sent it back.
    func note(_ range: Range<UInt64>, of staged: ObjectKey) {
        let now = clock.uptime
        files.withLock { files in
            files[staged, default: File()].answered[range] = now
            files[staged, default: File()].lastAnswer = now
        }
    }

    func forget(_ staged: ObjectKey) {
        files.withLock { _ = $0.removeValue(forKey: staged) }
    }
}
