import HTTPTypes
import Hummingbird

/// Answers every failure with `{"error": {what, why, remedy}}` and the corresponding status.
struct ErrorResponses: RouterMiddleware {
    func handle(
        _ request: Request, context: BasicRequestContext,
        next: (Request, BasicRequestContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as any HTTPResponseError {
            // Hummingbird's own, such as an unknown route or a body that is too large.
            let problem = Problem(
                what: "answer \(request.method) \(request.uri.path)",
                why: error.status.reasonPhrase.lowercased())
            return try .json(ErrorBody(error: problem), status: error.status)
        } catch {
            let error = ControlError(wrapping: error)
            return try .json(
                ErrorBody(error: error.problem), status: .init(code: error.kind.rawValue))
        }
    }
}
