import FoundationEssentials
import HTTPTypes
import Hummingbird
import Meters
import ServiceLifecycle
import Transport

/// Maps requests to calls of the service, and its values to JSON.
struct Routes: Sendable {
    let service: any MountService

    /// Limit for a request's body: enough for the paths of any command line.
    private static let bodyBytesMax = 4 * 1024 * 1024

    /// The minimum time between two reports of a watch.
    private static let watchInterval: Duration = .milliseconds(200)

    /// Items of a status report without a `limit`, and with any.
    private static let itemsUsual = 1_000
    private static let itemsMax = 10_000

    /// Names of one page of a listing without a `limit`, and with any.
    private static let namesUsual = 1_000
    private static let namesMax = 10_000

    func responder() -> some HTTPResponder<BasicRequestContext> {
        let router = Router()
        router.add(middleware: ErrorResponses())
        // Collectors of metrics expect this path.
        router.get("metrics") { _, _ in try await metrics() }
        let v1 = router.group("v1")
        v1.get("about") { _, _ in try Response.json(service.about) }
        v1.get("status") { request, _ in
            try Response.json(
                await service.status(
                    below: try paths(inQueryOf: request), limit: try limit(inQueryOf: request)))
        }
        v1.get("list") { request, _ in try Response.json(await list(request)) }
        v1.get("status/watch") { request, _ in try await watch(request) }
        v1.get("programs") { _, _ in try Response.json(await service.programs()) }
        v1.get("changes") { request, _ in try await changes(request) }
        post("sync", to: v1, sync)
        post("evict", to: v1, evict)
        post("refresh", to: v1, refresh)
        post("pin", to: v1) { (body: PinBody, request) in
            let paths = try checkedPaths(body.paths, toDo: "pin")
            return try await stream(
                service.pin(paths, waits: body.wait ?? true), answering: request)
        }
        post("download", to: v1) { (body: PathsBody, request) in
            let paths = try checkedPaths(body.paths, toDo: "download")
            return try await stream(service.download(paths), answering: request)
        }
        post("unpin", to: v1) { (body: PathsBody, _) in
            try Response.json(await service.unpin(try checkedPaths(body.paths, toDo: "unpin")))
        }
        v1.get("bandwidth") { _, _ in try Response.json(service.bandwidth()) }
        post("bandwidth", to: v1) { (body: BandwidthBody, _) in
            let bandwidth = try bandwidth(body)
            return try Response.json(await service.setBandwidth(bandwidth))
        }
        v1.get("trash") { request, _ in try Response.json(await trash(request)) }
        post("trash/restore", to: v1, restore)
        v1.get("pins") { _, _ in try Response.json(await service.pins()) }
        post("resolve", to: v1) { (body: ResolveBody, _) in
            let path = try ControlError.checkedPath(body.path)
            return try Response.json(await service.resolve(path, keep: body.keep))
        }
        post("link", to: v1) { (body: PathBody, _) in
            try Response.json(await service.link(to: try ControlError.checkedPath(body.path)))
        }
        v1.post("confirm-deletions") { request, _ in
            try await stream(service.confirmDeletions(), answering: request)
        }
        v1.post("reject-deletions") { request, _ in
            try await stream(service.rejectDeletions(), answering: request)
        }
        post("unmount", to: v1) { (body: UnmountBody, request) in
            let timeout = try timeout(body.timeout)
            return try await stream(
                service.unmount(now: body.now ?? false, timeout: timeout), answering: request)
        }
        return router.buildResponder()
    }

    private func metrics() async throws -> Response {
        let text = PrometheusText.format(
            try await service.metrics(),
            common: [.init(Metric.mountLabel, service.about.mountPoint)])
        return Response(
            status: .ok, headers: [.contentType: PrometheusText.contentType],
            body: .init(byteBuffer: .init(string: text)))
    }

    private func watch(_ request: Request) async throws -> Response {
        let paths = try paths(inQueryOf: request)
        let limit = try limit(inQueryOf: request)
        // The first report precedes the head, so that a wrong path is refused with its status.
        let first = try await service.status(below: paths, limit: limit)
        return .lines(answering: request) { send in
            var last = first
            try await send(last)
            // A watch must not delay the end of the daemon.
            for await _ in service.statusChanges().cancelOnGracefulShutdown() {
                let report = try await service.status(below: paths, limit: limit)
                guard report != last else { continue }
                last = report
                try await send(report)
                try await Task.sleep(for: Self.watchInterval)
            }
        }
    }

    private func changes(_ request: Request) async throws -> Response {
        let events = service.changes(
            since: request.uri.queryParameters["since"].map(String.init),
            below: try paths(inQueryOf: request))
        var iterator = events.makeAsyncIterator()
        // Precedes the head, so that a wrong cursor is refused with its status.
        let first = try await iterator.next()
        return .lines(answering: request) { send in
            if let first { try await send(first) }
            // A watch must not delay the end of the daemon.
            for try await event in events.cancelOnGracefulShutdown() { try await send(event) }
        }
    }

    private func list(_ request: Request) async throws -> ListPage {
        let page = try page(inQueryOf: request)
        return try await service.list(page.path, after: page.after, limit: page.limit)
    }

    private func trash(_ request: Request) async throws -> TrashPage {
        let page = try page(inQueryOf: request)
        let position = page.after.map { Int64($0) } ?? 0
        guard let position, position >= 0 else {
            throw ControlError.wrongPosition(of: page.path)
        }
        return try await service.trash(below: page.path, after: position, limit: page.limit)
    }

    private func page(
        inQueryOf request: Request
    ) throws -> (path: String, after: String?, limit: Int) {
        let paths = try paths(inQueryOf: request)
        guard let path = paths.first, paths.count == 1 else {
            throw ControlError(
                .invalid, what: "list \(paths.count) paths", why: "each has pages of its own",
                remedy: "send a request for each path")
        }
        let limit = try limit(inQueryOf: request, usual: Self.namesUsual, max: Self.namesMax)
        guard limit > 0 else {
            throw ControlError(
                .invalid, what: "list \"\(path)\"", why: "a page has at least one name")
        }
        return (path, request.uri.queryParameters["after"].map(String.init), limit)
    }

    private func sync(_ body: SyncBody, _ request: Request) async throws -> Response {
        let paths = try ControlError.checkedPaths(body.paths ?? [""])
        let timeout = try timeout(body.timeout)
        return try await stream(
            service.sync(below: paths, timeout: timeout), answering: request)
    }

    private func timeout(_ seconds: Double?) throws(ControlError) -> Duration? {
        guard let seconds else { return nil }
        guard seconds >= 0, seconds < 1e9 else {
            throw ControlError(
                .invalid, what: "wait for \(seconds) seconds", why: "it is not a time")
        }
        return .seconds(seconds)
    }

    private func bandwidth(_ body: BandwidthBody) throws(ControlError) -> Bandwidth {
        do throws(BandwidthError) {
            return try Bandwidth(up: body.up, down: body.down).checked()
        } catch {
            throw ControlError(.invalid, what: "limit the bandwidth", why: error.description)
        }
    }

    private func refresh(_ body: PathsBody, _ request: Request) async throws -> Response {
        let paths = try ControlError.checkedPaths(body.paths ?? [""])
        return try await stream(service.refresh(paths), answering: request)
    }

    private func restore(_ body: RestoreBody, _ request: Request) async throws -> Response {
        let paths = try checkedPaths(body.paths, toDo: "restore")
        var folder: String?
        if let to = body.to { folder = try ControlError.checkedPath(to) }
        return try await stream(
            service.restore(paths, to: folder, isAll: body.all ?? false), answering: request)
    }

    private func evict(_ body: PathsBody, _ request: Request) async throws -> Response {
        try Response.json(await service.evict(try checkedPaths(body.paths, toDo: "evict")))
    }

    /// - Throws: `.invalid` if there is no path: an operation on the whole mount is not done by mistake.
    private func checkedPaths(
        _ paths: [String]?, toDo what: String
    ) throws(ControlError) -> [String] {
        guard let paths, !paths.isEmpty else {
            throw ControlError(
                .invalid, what: what, why: "no path was given",
                remedy: "send {\"paths\": [\"…\"]}; the empty path is the whole mount")
        }
        return try ControlError.checkedPaths(paths)
    }

    /// Answers with the values as lines after the first one; a failure before that is refused with its
    /// status.
    private func stream<Value: Encodable & Sendable>(
        _ values: AsyncThrowingStream<Value, any Error>, answering request: Request
    ) async throws -> Response {
        var iterator = values.makeAsyncIterator()
        let first = try await iterator.next()
        return .lines(answering: request) { send in
            if let first { try await send(first) }
            for try await value in values { try await send(value) }
        }
    }

    private func paths(inQueryOf request: Request) throws -> [String] {
        let given = request.uri.queryParameters[values: "path"].map(String.init)
        return try ControlError.checkedPaths(given.isEmpty ? [""] : given)
    }

    private func limit(
        inQueryOf request: Request, usual: Int = itemsUsual, max: Int = itemsMax
    ) throws -> Int {
        guard let text = request.uri.queryParameters["limit"] else { return usual }
        guard let limit = Int(text), limit >= 0 else {
            throw ControlError(
                .invalid, what: "read the limit \"\(text)\"", why: "it is not a number of items")
        }
        return min(limit, max)
    }

    /// Adds a route that decodes the body of a request; an empty one stands for an empty object.
    private func post<Body: Decodable & Sendable>(
        _ path: RouterPath, to group: RouterGroup<BasicRequestContext>,
        _ answer: @escaping @Sendable (Body, Request) async throws -> Response
    ) {
        group.post(path) { request, _ in
            var request = request
            let buffer = try await request.collectBody(upTo: Self.bodyBytesMax)
            let bytes =
                buffer.readableBytes == 0 ? Array("{}".utf8) : Array(buffer.readableBytesView)
            guard let body: Body = try? ControlJSON.decode(from: bytes) else {
                throw ControlError(
                    .invalid, what: "read the body of \(request.uri.path)",
                    why: "it is not the expected JSON object")
            }
            return try await answer(body, request)
        }
    }
}
