import HTTPTypes
import Hummingbird
import NIOCore
import SystemCalls

/// Answers the page's requests: its files, the list of mounts, and what is passed on to each mount's daemon.
struct PageRoutes: Sendable {
    let access: PageAccess
    let relay: Relay
    /// Runs what blocks.
    let pool: BlockingPool
    /// Finds the mounts; asked again for every request, as they come and go.
    let mounts: @Sendable () throws(ControlError) -> [WebMount]

    func responder() -> some HTTPResponder<BasicRequestContext> {
        let router = Router()
        router.add(middleware: PageHeaders())
        router.add(middleware: ErrorResponses())
        router.add(middleware: PageAccessCheck(access: access))
        for file in PageFile.all {
            router.get(RouterPath(file.path)) { _, _ in file.response }
        }
        router.get("mounts") { _, _ in
            let found = try mounts().map {
                WebMountList.Mount(id: $0.id, mountPoint: $0.mountPoint)
            }
            return try Response.json(WebMountList(mounts: found))
        }
        router.get("mounts/:id/preview") { request, context in
            try await preview(request, of: try mount(context))
        }
        router.get("mounts/:id/v1/**", use: passOn)
        router.post("mounts/:id/v1/**", use: passOn)
        return router.buildResponder()
    }

    @Sendable
    private func passOn(
        _ request: Request, _ context: BasicRequestContext
    ) async throws -> Response {
        let route = context.parameters.getCatchAll().joined(separator: "/")
        guard RelayedRoutes.allow(request.method.rawValue, route) else {
            throw ControlError(
                .missing, what: "answer \(request.method) \(request.uri.path)",
                why: "the page has no such request")
        }
        return try await relay.answer(request, route, of: try mount(context))
    }

    private func mount(_ context: BasicRequestContext) throws -> WebMount {
        let id = try context.parameters.require("id")
        guard let mount = try mounts().first(where: { $0.id == id }) else {
            throw ControlError(
                .missing, what: "find the mount", why: "it is not mounted any more")
        }
        return mount
    }

    private func preview(_ request: Request, of mount: WebMount) async throws -> Response {
        let path = try ControlError.checkedPath(
            try request.uri.queryParameters.require("path"))
        let result = await pool.run(onCancel: .abandon) { () throws(ControlError) in
            try FilePreview(of: path, in: mount.mountPoint)
        }
        guard let preview = try result?.get() else { throw CancellationError() }
        return Response(
            status: .ok, headers: [.contentType: preview.mediaType],
            body: .init(byteBuffer: ByteBuffer(bytes: preview.bytes)))
    }
}
