import Synchronization

/// Bounds the questions for single names in a directory. To some stores, a question costs as much as
/// a listing: rclone lists the directory for it on most clouds.
final class QuestionPlaces: Sendable {
    /// The maximum number of questions at a time in one directory.
    static var placesMax: Int { 4 }

    private let taken = Mutex<[InodeNumber: Int]>([:])
    private let freed = Signal()

    /// Waits for a place, which ``free(for:)`` gives back.
    ///
    /// - Returns: false if the task was cancelled.
    func take(for directory: InodeNumber) async -> Bool {
        while !Task.isCancelled {
            let notifications = freed.notifications
            if takeNow(for: directory) { return true }
            await freed.wait(after: notifications)
        }
        return false
    }

    private func takeNow(for directory: InodeNumber) -> Bool {
        taken.withLock { taken in
            guard taken[directory, default: 0] < Self.placesMax else { return false }
            taken[directory, default: 0] += 1
            return true
        }
    }

    func free(for directory: InodeNumber) {
        taken.withLock { taken in
            let left = taken[directory, default: 1] - 1
            taken[directory] = left > 0 ? left : nil
        }
        freed.notify()
    }
}
