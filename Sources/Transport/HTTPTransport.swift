import Foundation

/// HTTP for the whole process: any number of requests side by side on one thread of its own.
///
/// The thread, `apus-transport`, ends with the last reference; requests on their way are then
/// cancelled.
package final class HTTPTransport: Sendable {
    private let shared = TransportThread()

    package init() {
        let shared = shared
        let thread = Thread { shared.run() }
        thread.name = "apus-transport"
        thread.start()
    }

    deinit {
        shared.post(.stop)
    }

    /// Sends a request, and returns once `sink` has the whole body of the answer.
    ///
    /// Redirects are answers like any other. Cancelling the task closes the connection.
    ///
    /// - Throws: Whatever keeps the answer from being whole; a status of 400 and above does not.
    package func send(
        _ request: HTTPRequest, into sink: some HTTPBodySink
    ) async throws(TransportError) -> HTTPResponse {
        let transfer = try Transfer(request, into: sink)
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                transfer.onEnd(continuation)
                shared.post(.start(transfer))
                // A cancellation from before the start found nothing to cancel.
                if Task.isCancelled { shared.post(.cancel(transfer)) }
            }
        } onCancel: {
            shared.post(.cancel(transfer))
        }
        return try outcome.get()
    }
}
