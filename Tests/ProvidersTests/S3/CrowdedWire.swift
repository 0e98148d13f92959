import Foundation
import Logging
import Synchronization
import TestServer
import Testing
import Transport

@testable import ProviderS3
@testable import ProviderSupport

/// A store in memory that keeps some requests until no more of them come, to count those at a time.
struct CrowdedWire: S3Wire {
    let store = TinyS3()
    let crowd: Crowd
    private let isCounted: @Sendable (HTTPRequest) -> Bool

    init(expected: Int, isCounted: @escaping @Sendable (HTTPRequest) -> Bool) {
        crowd = Crowd(expected: expected)
        self.isCounted = isCounted
    }

    func send(
        _ request: HTTPRequest, into sink: some HTTPBodySink
    ) async throws(TransportError) -> HTTPResponse {
        if isCounted(request) {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    crowd.pass()
                    continuation.resume()
                }
            }
        }
        return try await store.send(request, into: sink)
    }

    /// A provider with the limits that users have.
    static func provider(_ wire: some S3Wire) throws -> S3Provider {
        let endpoint = try #require(
            S3Endpoint(url: "http://store", bucket: "bucket", isPathStyle: true))
        let provider = try S3Provider(
            S3Client(
                settings: S3Settings(bucket: "bucket", prefix: S3Key("")), endpoint: endpoint,
                region: "us-east-1", wire: wire, clock: ClockAtOnce(), credentials: nil,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
        provider.probe.known.withLock { $0 = S3Conditions() }
        return provider
    }
}
