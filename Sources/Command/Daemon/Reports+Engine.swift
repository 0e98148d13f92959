import Control
import Engine
import Foundation

// Values of the control API from those of the engine.

extension StatusItem {
    init(_ item: PendingItem) {
        self.init(
            path: item.path, state: State(item.state),
            bytes: item.size, bytesSent: item.transfer?.bytesSent ?? 0, bytesHere: item.bytesHere)
        operation =
            item.transfer.map { Operation($0.kind) }
            ?? (item.isDeletion ? .delete : item.bytesHere.map { _ in .download })
        attempts = item.attempts
        awaitsPause = item.awaitsPause
        isOpenAndSent = item.isOpenAndSent
        error = item.failure.map { Problem($0) }
        isPassing = item.failure?.isPassing ?? false
        retryAt = item.retry?.date
        since = item.state == .dirty || item.state == .uploading ? item.since.date : nil
        startedAt = item.transfer?.startedAt.date
        lastSignAt = item.transfer?.lastSignAt.date
        conflictsWith = item.counterpart
        target = item.link.map { String(decoding: $0.target, as: UTF8.self) }
        isContained = item.link?.isContained ?? false
    }
}

extension StatusItem.State {
    init(_ state: ItemState) {
        self =
            switch state {
            case .remote: .remote
            case .partial: .partial
            case .local: .local
            case .dirty: .dirty
            case .excluded: .excluded
            case .uploading: .uploading
            }
    }
}

extension ListItem {
    init(_ item: ListedItem, path: String) {
        let kind: Kind =
            switch item.kind {
            case .file: .file
            case .directory: .directory
            case .symlink: .link
            }
        let state: State =
            switch item.condition {
            case .state(let state): State(state)
            case .conflict: .conflict
            case .held: .held
            case .failed: .failed
            }
        let percent = item.transfer.map { transfer in
            transfer.bytesTotal == 0
                ? 0
                : Int(
                    Double(min(transfer.bytesSent, transfer.bytesTotal))
                        / Double(transfer.bytesTotal) * 100)
        }
        self.init(
            path: path, kind: kind, state: state, percent: percent, bytes: item.size,
            modified: item.modified.date, pin: item.pin.flatMap { Pin(rawValue: $0.rawValue) })
    }
}

extension ListItem.State {
    init(_ state: ItemState) {
        self =
            switch state {
            case .remote: .remote
            case .partial: .partial
            case .local: .local
            case .dirty: .dirty
            case .excluded: .excluded
            case .uploading: .uploading
            }
    }
}

extension HeldCounts {
    init(_ held: HeldDeletions) {
        self.init(
            items: held.items, directories: held.directories,
            inDirectories: held.itemsInDirectories)
    }
}

extension StatusItem.Operation {
    init(_ kind: Transfer.Kind) {
        self =
            switch kind {
            case .upload: .upload
            case .create: .create
            case .move: .move
            case .change: .attributes
            case .delete: .delete
            }
    }
}

extension Problem {
    init(unauthorized reachability: Reachability) {
        self.init(
            what: "use the credentials", why: reachability.reason ?? "the remote refuses them",
            remedy: "renew them; the sync then continues automatically")
    }

    init(_ failure: SyncFailure) {
        self.init(what: failure.what, why: failure.why, remedy: failure.remedy)
    }
}

extension Timestamp {
    var date: Date {
        Date(timeIntervalSince1970: Double(nanoseconds) / 1_000_000_000)
    }
}
