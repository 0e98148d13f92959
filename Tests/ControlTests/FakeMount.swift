import Foundation
import Meters
import Synchronization
import Transport

@testable import Control

/// A mount with answers given by a test, which records its calls.
final class FakeMount: MountService {
    enum Call: Hashable {
        case status([String], limit: Int)
        case list(String, after: String?, limit: Int)
        case sync([String], timeout: Duration? = nil)
        case evict([String])
        case refresh([String])
        case changes(since: String?, [String])
        case pin([String], waits: Bool)
        case unpin([String])
        case download([String])
        case trash(String, after: Int64, limit: Int)
        case restore([String], to: String?, isAll: Bool)
        case resolve(String, keep: String)
        case link(String)
        case confirmDeletions
        case rejectDeletions
        case unmount(now: Bool, timeout: Duration? = nil)
    }

    private struct State {
        var calls: [Call] = []
        var report = Sample.report
        var evictReport = EvictReport(files: 3, bytesFreed: 4096)
        var refusal: ControlError?
        var bandwidth = Bandwidth.unlimited
        var progress: [SyncProgress] = [SyncProgress(pending: 1), SyncProgress(isDone: true)]
        var pinProgress: [PinProgress] = []
        var restoreProgress: [RestoreProgress] = []
        var failureAfterProgress: ControlError?
        var staysOpen = false
        /// The local bytes of the next reports of the status; an eviction waits for the last one.
        var localBytes: [UInt64] = []
    }

    private let state = Mutex(State())
    private let changes = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    private let ends = AsyncStream<Void>.makeStream()
    private let statusEnds = AsyncStream<Void>.makeStream()

    let about = Sample.about

    // MARK: Test control

    var calls: [Call] { state.withLock { $0.calls } }

    func refuse(_ error: ControlError) { state.withLock { $0.refusal = error } }

    func tell(_ progress: [SyncProgress], thenFail error: ControlError? = nil) {
        state.withLock {
            $0.progress = progress
            $0.failureAfterProgress = error
        }
    }

    func tell(_ progress: [PinProgress]) { state.withLock { $0.pinProgress = progress } }

    func tell(_ progress: [RestoreProgress]) { state.withLock { $0.restoreProgress = progress } }

    /// Keeps streams open after their values, until their reader ends them.
    func stayOpen() { state.withLock { $0.staysOpen = true } }

    func evicting(_ report: EvictReport) { state.withLock { $0.evictReport = report } }

    /// Lets an eviction take until the status was read that many times.
    func evicting(_ report: EvictReport, whileLocalBytesAre localBytes: [UInt64]) {
        state.withLock { ($0.evictReport, $0.localBytes) = (report, localBytes) }
    }

    func change(_ report: StatusReport) {
        state.withLock { $0.report = report }
        changes.continuation.yield()
    }

    /// Something changes that the report does not show.
    func changeNothing() { changes.continuation.yield() }

    /// Returns once a stream was ended by its reader.
    func streamEnded() async {
        for await _ in ends.stream { return }
    }

    /// The names in the directory of each path.
    let names = ["": (1...2_500).map { "n\($0)" }, "empty": []]

    // MARK: MountService

    func list(
        _ path: String, after position: String?, limit: Int
    ) async throws(ControlError) -> ListPage {
        let refusal = state.withLock { state in
            state.calls.append(.list(path, after: position, limit: limit))
            return state.refusal
        }
        if let refusal { throw refusal }
        let names = names[path] ?? []
        let first = position.flatMap { names.firstIndex(of: $0) }.map { $0 + 1 } ?? 0
        let rest = names[first...].prefix(limit)
        return ListPage(
            items: rest.map {
                ListItem(path: $0, kind: .file, state: .remote, bytes: 1, modified: Sample.start)
            },
            next: rest.count == limit ? rest.last : nil)
    }

    func status(
        below paths: [String], limit: Int
    ) async throws(ControlError) -> StatusReport {
        let (report, refusal) = state.withLock { state in
            state.calls.append(.status(paths, limit: limit))
            if !state.localBytes.isEmpty {
                state.report.counts.localBytes = state.localBytes.removeFirst()
                if state.localBytes.isEmpty { statusEnds.continuation.finish() }
            }
            return (state.report, state.refusal)
        }
        if let refusal { throw refusal }
        return report
    }

    func programs() async throws(ControlError) -> ProgramsReport {
        if let refusal = state.withLock(\.refusal) { throw refusal }
        return Sample.programs
    }

    func metrics() async throws(ControlError) -> [MetricFamily] {
        Metric.allCases.map { $0.family([]) }
    }

    func bandwidth() -> BandwidthReport {
        BandwidthReport(
            mountPoint: about.mountPoint, state.withLock(\.bandwidth))
    }

    func setBandwidth(_ bandwidth: Bandwidth) async throws(ControlError) -> BandwidthReport {
        state.withLock { $0.bandwidth = bandwidth }
        return self.bandwidth()
    }

    func statusChanges() -> AsyncStream<Void> { changes.stream }

    func changes(
        since cursor: String?, below paths: [String]
    ) -> AsyncThrowingStream<ChangeEvent, any Error> {
        let refusal = state.withLock { state in
            state.calls.append(.changes(since: cursor, paths))
            return state.refusal
        }
        return AsyncThrowingStream { continuation in
            if let refusal { return continuation.finish(throwing: refusal) }
            continuation.yield(ChangeEvent(cursor: "h.1"))
            continuation.yield(Sample.change)
            continuation.finish()
        }
    }

    func sync(
        below paths: [String], timeout: Duration?
    ) -> AsyncThrowingStream<SyncProgress, any Error> {
        stream(.sync(paths, timeout: timeout), \.progress)
    }

    func refresh(_ paths: [String]) -> AsyncThrowingStream<RefreshProgress, any Error> {
        let refusal = state.withLock { state in
            state.calls.append(.refresh(paths))
            return state.refusal
        }
        return AsyncThrowingStream { continuation in
            continuation.yield(RefreshProgress(folders: 1))
            if refusal == nil { continuation.yield(RefreshProgress(folders: 2, isDone: true)) }
            continuation.finish(throwing: refusal)
        }
    }

    func pin(_ paths: [String], waits: Bool) -> AsyncThrowingStream<PinProgress, any Error> {
        stream(.pin(paths, waits: waits), \.pinProgress)
    }

    func unpin(_ paths: [String]) async throws(ControlError) -> UnpinReport {
        state.withLock { $0.calls.append(.unpin(paths)) }
        return UnpinReport(unpinned: UInt64(paths.count))
    }

    func download(_ paths: [String]) -> AsyncThrowingStream<DownloadProgress, any Error> {
        stream(.download(paths)) { _ in
            var (first, last) = (DownloadProgress(), DownloadProgress())
            (first.files, first.filesMissing, last.files) = (2, 1, 2)
            last.isDone = true
            return [first, last]
        }
    }

    func pins() async throws(ControlError) -> PinReport { Sample.pins }

    func trash(
        below path: String, after position: Int64, limit: Int
    ) async throws(ControlError) -> TrashPage {
        state.withLock { $0.calls.append(.trash(path, after: position, limit: limit)) }
        return TrashPage(items: [Sample.trashed], next: position < 2 ? position + 1 : nil)
    }

    func restore(
        _ paths: [String], to folder: String?, isAll: Bool
    ) -> AsyncThrowingStream<RestoreProgress, any Error> {
        stream(.restore(paths, to: folder, isAll: isAll), \.restoreProgress)
    }

    func evict(_ paths: [String]) async throws(ControlError) -> EvictReport {
        if state.withLock({ !$0.localBytes.isEmpty }) { for await _ in statusEnds.stream {} }
        let (report, refusal) = state.withLock { state in
            state.calls.append(.evict(paths))
            return (state.evictReport, state.refusal)
        }
        if let refusal { throw refusal }
        return report
    }

    func resolve(_ path: String, keep: String) async throws(ControlError) -> ResolveReport {
        let refusal = state.withLock { state in
            state.calls.append(.resolve(path, keep: keep))
            return state.refusal
        }
        if let refusal { throw refusal }
        return ResolveReport(path: path)
    }

    func link(to path: String) async throws(ControlError) -> LinkReport {
        let refusal = state.withLock { state in
            state.calls.append(.link(path))
            return state.refusal
        }
        if let refusal { throw refusal }
        return LinkReport(url: "https://cloud.example.org/\(path)")
    }

    func confirmDeletions() -> AsyncThrowingStream<DeletionsReport, any Error> {
        state.withLock { $0.calls.append(.confirmDeletions) }
        return Self.stream(of: Sample.confirmations)
    }

    func rejectDeletions() -> AsyncThrowingStream<RejectionReport, any Error> {
        state.withLock { $0.calls.append(.rejectDeletions) }
        return Self.stream(of: Sample.rejections)
    }

    private static func stream<Value: Sendable>(
        of values: [Value]
    ) -> AsyncThrowingStream<Value, any Error> {
        AsyncThrowingStream { continuation in
            for value in values { continuation.yield(value) }
            continuation.finish()
        }
    }

    func unmount(
        now: Bool, timeout: Duration?
    ) -> AsyncThrowingStream<SyncProgress, any Error> {
        stream(.unmount(now: now, timeout: timeout), \.progress)
    }

    private func stream<Report: Sendable>(
        _ call: Call, _ reports: (State) -> [Report]
    ) -> AsyncThrowingStream<Report, any Error> {
        let script = state.withLock { state in
            state.calls.append(call)
            return state
        }
        return AsyncThrowingStream { continuation in
            continuation.onTermination = { [ends] reason in
                if case .cancelled = reason { ends.continuation.yield() }
            }
            if let refusal = script.refusal { return continuation.finish(throwing: refusal) }
            reports(script).forEach { continuation.yield($0) }
            if script.staysOpen { return }
            continuation.finish(throwing: script.failureAfterProgress)
        }
    }
}

/// Values that tests share.
enum Sample {
    static let start = Date(timeIntervalSince1970: 1_800_000_000)

    static let about = About(
        version: "0.1.0", pid: 4711, mountPoint: "/mnt/cloud", source: "folder:/srv/cloud",
        stateDirectory: "/var/lib/apus/mnt+cloud", since: start)

    static let change = ChangeEvent(
        cursor: "h.2", change: .moved, side: .remote, path: "b c", from: "a", time: start)

    static let programs = ProgramsReport(
        mountPoint: "/mnt/cloud",
        programs: [
            ProgramDownloads(
                program: "thumb er", bytes: 5 << 20, files: 3,
                largest: [
                    ProgramDownloads.File(path: "a b", bytes: 4 << 20),
                    ProgramDownloads.File(path: "c", bytes: 1 << 19),
                ]),
            ProgramDownloads(program: "apus", bytes: 1, files: 10, hasMore: true, largest: []),
        ])

    static let report = StatusReport(
        mountPoint: "/mnt/cloud", source: "folder:/srv/cloud",
        stateDirectory: "/var/lib/apus/mnt+cloud", since: start,
        counts: StatusCounts(
            items: 120, localBytes: 5 << 20, pending: 3, pendingBytes: 3 << 20, uploading: 1,
            failed: 1),
        remote: RemoteReachability(isReachable: true, since: start),
        items: [
            StatusItem(
                path: "b/full.mov", state: .dirty, operation: .upload, bytes: 2 << 20,
                attempts: 3,
                error: Problem(
                    what: "upload \"b/full.mov\"", why: "no room on the remote",
                    remedy: "free some space there"), since: start),
            StatusItem(
                path: "a.jpg", state: .uploading, operation: .upload, bytes: 1000,
                bytesSent: 129, percent: 12, since: start),
            StatusItem(path: "new", state: .dirty, operation: .create, since: start),
        ], isTruncated: false)

    static let pins = PinReport(
        mountPoint: "/mnt/cloud",
        pins: [
            PinnedItem(path: "a", files: 3, bytes: 4096, filesMissing: 1, bytesMissing: 1024)
        ])

    static let trashed = TrashItem(
        path: "a/b.jpg", bytes: 4096, modified: start, deleted: start,
        expires: start.addingTimeInterval(30 * 86_400))

    static let confirmations = [
        DeletionsReport(here: HeldCounts(items: 120), released: 100, onRemote: 0, isDone: false),
        DeletionsReport(here: HeldCounts(items: 120), released: 120, onRemote: 0),
    ]

    static let rejections = [
        RejectionReport(sentAgain: 60, broughtBack: 0, left: 0, leftPaths: [], isDone: false),
        RejectionReport(sentAgain: 120, broughtBack: 0, left: 2, leftPaths: ["a", "b\n"]),
    ]

    static let clean = StatusReport(
        mountPoint: "/mnt/cloud", source: "folder:/srv/cloud",
        stateDirectory: "/var/lib/apus/mnt+cloud", since: start,
        counts: StatusCounts(items: 1), remote: RemoteReachability(isReachable: true, since: start),
        items: [], isTruncated: false)
}
