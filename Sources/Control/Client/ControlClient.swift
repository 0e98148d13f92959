import Foundation
import SystemCalls
package import Transport

/// A client of one mount's daemon, over its control socket.
package struct ControlClient: Sendable {
    private let socketPath: String
    private let transport: HTTPTransport

    /// Timeout of answers that are not streams.
    private static let answerTimeout: Duration = .seconds(60)

    package init(socketPath: String, transport: HTTPTransport) {
        self.socketPath = socketPath
        self.transport = transport
    }

    /// - Throws: `.unreachable` if no daemon answers, as every call here.
    package func about() async throws(ControlError) -> About {
        try await answer(to: request(.get, "about", timeout: Self.answerTimeout))
    }

    /// - Parameters:
    ///   - paths: In the form of ``MountService``; none for the whole mount.
    ///   - limit: The maximum number of items; nil for the daemon's default of 1,000.
    package func status(
        below paths: [String], limit: Int? = nil
    ) async throws(ControlError) -> StatusReport {
        let path = "status" + query(paths, limit: limit)
        return try await answer(to: request(.get, path, timeout: Self.answerTimeout))
    }

    package func programs() async throws(ControlError) -> ProgramsReport {
        try await answer(to: request(.get, "programs", timeout: Self.answerTimeout))
    }

    /// Returns the daemon's metrics in the text format of Prometheus.
    package func metrics() async throws(ControlError) -> String {
        var request = request(.get, "", timeout: Self.answerTimeout)
        request.url = "http://apus/metrics"
        do {
            let (response, body) = try await transport.send(request, bytesMax: 16 << 20)
            guard response.isSuccess else { throw refusal(body, status: response.status) }
            return String(decoding: body, as: UTF8.self)
        } catch {
            throw failure(error)
        }
    }

    package func bandwidth() async throws(ControlError) -> BandwidthReport {
        try await answer(to: request(.get, "bandwidth", timeout: Self.answerTimeout))
    }

    package func setBandwidth(_ limit: Bandwidth) async throws(ControlError) -> BandwidthReport {
        let body = BandwidthBody(up: limit.up, down: limit.down)
        return try await answer(to: request(.post, "bandwidth", body: body))
    }

    /// Calls `each` with one page after the other; see ``MountService/list(_:after:limit:)``.
    package func list(
        _ path: String, each: (ListPage) -> Void
    ) async throws(ControlError) {
        var position: String?
        repeat {
            // No timeout: the first page may have to wait for a long listing of the remote.
            let after = position.map { "&after=" + PercentCoding.encode($0) } ?? ""
            let query = query([path], limit: nil) + after
            let page: ListPage = try await answer(to: request(.get, "list" + query))
            each(page)
            position = page.next
        } while position != nil
    }

    /// Calls `each` with a report now and after each change, until the task is cancelled.
    package func watchStatus(
        below paths: [String], limit: Int? = nil, each: (StatusReport) -> Void
    ) async throws(ControlError) {
        try await stream(request(.get, "status/watch" + query(paths, limit: limit)), each: each)
    }

    /// Calls `each` with a change after the other, until the task is cancelled or the mount ends; see
    /// ``MountService/changes(since:below:)``.
    package func watchChanges(
        since cursor: String?, below paths: [String], each: (ChangeEvent) -> Void
    ) async throws(ControlError) {
        let parameters =
            paths.map { "path=" + PercentCoding.encode($0) }
            + (cursor.map { ["since=" + PercentCoding.encode($0)] } ?? [])
        let query = parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&")
        try await stream(request(.get, "changes" + query), each: each)
    }

    /// Returns once everything below `paths` is on the remote or has failed permanently, or after
    /// `timeout`.
    ///
    /// - Returns: The last report, with the failures.
    package func sync(
        below paths: [String], timeout: Duration? = nil, each: (SyncProgress) -> Void
    ) async throws(ControlError) -> SyncProgress {
        let body = SyncBody(
            paths: paths.isEmpty ? nil : paths, timeout: timeout?.inSeconds)
        return try await lastReport(
            of: request(.post, "sync", body: body), isLast: \.isDone, each: each)
    }

    package func evict(_ paths: [String]) async throws(ControlError) -> EvictReport {
        // No timeout: a large mount takes long.
        try await answer(to: request(.post, "evict", body: PathsBody(paths: paths)))
    }

    /// Returns once the daemon has looked at the remote; see ``MountService/refresh(_:)``.
    ///
    /// - Returns: The last report.
    package func refresh(
        _ paths: [String], each: (RefreshProgress) -> Void
    ) async throws(ControlError) -> RefreshProgress {
        let body = PathsBody(paths: paths.isEmpty ? nil : paths)
        return try await lastReport(
            of: request(.post, "refresh", body: body), isLast: \.isDone, each: each)
    }

    /// Keeps files on this machine; see ``MountService/pin(_:waits:)``.
    ///
    /// - Returns: The last report.
    package func pin(
        _ paths: [String], waits: Bool, each: (PinProgress) -> Void
    ) async throws(ControlError) -> PinProgress {
        let body = PinBody(paths: paths, wait: waits)
        return try await lastReport(
            of: request(.post, "pin", body: body), isLast: \.isDone, each: each)
    }

    package func unpin(_ paths: [String]) async throws(ControlError) -> UnpinReport {
        try await answer(to: request(.post, "unpin", body: PathsBody(paths: paths)))
    }

    package func pins() async throws(ControlError) -> PinReport {
        // No timeout: very many pinned files are counted.
        try await answer(to: request(.get, "pins"))
    }

    /// Calls `each` with one page after the other; see ``MountService/trash(below:after:limit:)``.
    package func trash(
        below path: String, each: (TrashPage) -> Void
    ) async throws(ControlError) {
        var position: Int64? = 0
        while let after = position {
            let query = query([path], limit: nil) + "&after=\(after)"
            let page: TrashPage = try await answer(
                to: request(.get, "trash" + query, timeout: Self.answerTimeout))
            each(page)
            position = page.next
        }
    }

    /// Brings back files from the trash; see ``MountService/restore(_:to:isAll:)``.
    ///
    /// - Returns: The last report.
    package func restore(
        _ paths: [String], to folder: String?, isAll: Bool, each: (RestoreProgress) -> Void
    ) async throws(ControlError) -> RestoreProgress {
        let body = RestoreBody(paths: paths, to: folder, all: isAll)
        return try await lastReport(
            of: request(.post, "trash/restore", body: body), isLast: \.isDone, each: each)
    }

    /// Ends a conflict; see ``MountService/resolve(_:keep:)``.
    package func resolve(
        _ path: String, keep: String
    ) async throws(ControlError) -> ResolveReport {
        try await answer(
            to: request(.post, "resolve", body: ResolveBody(path: path, keep: keep)))
    }

    /// Returns a public link; see ``MountService/link(to:)``.
    package func link(to path: String) async throws(ControlError) -> LinkReport {
        try await answer(to: request(.post, "link", body: PathBody(path: path)))
    }

    /// - Returns: The last report.
    package func confirmDeletions(
        each: (DeletionsReport) -> Void
    ) async throws(ControlError) -> DeletionsReport {
        try await lastReport(
            of: request(.post, "confirm-deletions", body: PathsBody()), isLast: \.isDone, each: each
        )
    }

    /// - Returns: The last report.
    package func rejectDeletions(
        each: (RejectionReport) -> Void
    ) async throws(ControlError) -> RejectionReport {
        try await lastReport(
            of: request(.post, "reject-deletions", body: PathsBody()), isLast: \.isDone, each: each)
    }

    /// Returns once the folder is unmounted, or stays mounted because of failed uploads, or as these took
    /// longer than `timeout`.
    ///
    /// - Returns: The last report, with the failures.
    package func unmount(
        now: Bool, timeout: Duration? = nil, each: (SyncProgress) -> Void
    ) async throws(ControlError) -> SyncProgress {
        let body = UnmountBody(now: now, timeout: timeout?.inSeconds)
        return try await lastReport(
            of: request(.post, "unmount", body: body), isLast: \.isDone, each: each)
    }

    // MARK: Requests

    private func request(
        _ method: HTTPRequest.Method, _ path: String, timeout: Duration? = nil
    ) -> HTTPRequest {
        // No stall timeout: a stream is idle while nothing changes.
        HTTPRequest(
            method, "http://apus/v1/\(path)", unixSocketPath: socketPath, stallTimeout: nil,
            timeout: timeout)
    }

    private func request(
        _ method: HTTPRequest.Method, _ path: String, body: some Encodable
    ) throws(ControlError) -> HTTPRequest {
        var request = request(method, path)
        request.headers = [(name: "Content-Type", value: "application/json")]
        do {
            request.body = .bytes(Array(try ControlJSON.encode(body)))
        } catch {
            throw ControlError(.invalid, what: "query the daemon", why: "\(error)")
        }
        return request
    }

    private func query(_ paths: [String], limit: Int?) -> String {
        let parameters =
            paths.map { "path=" + PercentCoding.encode($0) } + (limit.map { ["limit=\($0)"] } ?? [])
        return parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&")
    }

    // MARK: Answers

    private func answer<Value: Decodable>(
        to request: HTTPRequest
    ) async throws(ControlError) -> Value {
        let sink = LineSink()
        do {
            let response = try await transport.send(request, into: sink)
            sink.finish()
            var body: [UInt8] = []
            for await line in sink.lines { body += line }
            guard response.isSuccess else { throw refusal(body, status: response.status) }
            return try ControlJSON.decode(from: body)
        } catch {
            throw failure(error)
        }
    }

    private func lastReport<Report: Decodable>(
        of request: HTTPRequest, isLast: (Report) -> Bool, each: (Report) -> Void
    ) async throws(ControlError) -> Report {
        var last: Report?
        try await stream(request) { (report: Report) in
            last = report
            each(report)
        }
        guard let last, isLast(last) else {
            throw ControlError(
                .unreachable, what: "wait for the daemon", why: "it stopped before it was done",
                remedy: "see the log in its state directory")
        }
        return last
    }

    /// Decodes the lines of an answer as they arrive, on the calling task.
    private func stream<Value: Decodable>(
        _ request: HTTPRequest, each: (Value) -> Void
    ) async throws(ControlError) {
        let sink = LineSink()
        do {
            // The transfer runs concurrently, so that `each` does not delay it.
            async let transfer = deliver(request, into: sink)
            var refused: [UInt8] = []
            for await line in sink.lines {
                if sink.isRefusal {
                    refused += line
                } else if let failure = try? ControlJSON.decode(ErrorBody.self, from: line) {
                    throw ControlError(.failed, failure.error)
                } else {
                    each(try ControlJSON.decode(from: line))
                }
            }
            let response = try await transfer
            if !response.isSuccess { throw refusal(refused, status: response.status) }
        } catch {
            throw failure(error)
        }
    }

    private func deliver(
        _ request: HTTPRequest, into sink: LineSink
    ) async throws(TransportError) -> HTTPResponse {
        defer { sink.finish() }
        return try await transport.send(request, into: sink)
    }

    private func refusal(_ body: [UInt8], status: Int) -> ControlError {
        let kind = ControlError.Kind(status: status)
        if let told = try? ControlJSON.decode(ErrorBody.self, from: body) {
            return ControlError(kind, told.error)
        }
        return ControlError(
            kind, what: "query the daemon", why: "it answered \(status) without a reason")
    }

    private func failure(_ error: any Error) -> ControlError {
        switch error {
        case let error as ControlError: error
        case let error as TransportError: ControlError(error, socketPath: socketPath)
        case is DecodingError:
            ControlError(
                .failed, what: "read the daemon's answer",
                why: "the daemon is another version of apus",
                remedy: "unmount with the version that mounted, then mount again")
        default: ControlError(.failed, what: "query the daemon", why: "\(error)")
        }
    }
}

extension ControlError {
    fileprivate init(_ error: TransportError, socketPath: String) {
        let what = "connect to the daemon at \(socketPath)"
        switch (error.kind, error.errorNumber) {
        case (.unreachable, EACCES), (.unreachable, EPERM):
            self.init(
                .unreachable, what: what, why: "permission denied",
                remedy: "run the command as the user who mounted")
        case (.unreachable, ENOENT), (.unreachable, ECONNREFUSED):
            self.init(
                .unreachable, what: what, why: "no daemon listens there",
                remedy: "run `apus unmount` on the mount point, then mount it again")
        case (.interrupted, _):
            self.init(
                .unreachable, what: what, why: "it closed the connection",
                remedy: "see the log in its state directory")
        case (.timedOut, _):
            self.init(
                .unreachable, what: what, why: "it does not answer",
                remedy: "see the log in its state directory")
        default: self.init(.unreachable, what: what, why: error.reason)
        }
    }
}
