import Engine
import Synchronization
import TestServer
import Testing
import Transport

@testable import ProviderS3
@testable import ProviderSupport

/// The test of a store before the first change of a mount. Goal: exactly the conditions that the store ignores
/// are found to be ignored, and nothing is left there.
///
/// Method: a store in memory that honours all, and something before it that takes one condition away.
struct S3ConditionTests {
    private struct IgnoringWire: S3Wire {
        let store = TinyS3()
        let ignores: @Sendable (inout HTTPRequest) -> Void

        func send(
            _ request: HTTPRequest, into sink: some HTTPBodySink
        ) async throws(TransportError) -> HTTPResponse {
            var request = request
            ignores(&request)
            return try await store.send(request, into: sink)
        }
    }

    private func found(
        _ ignores: @escaping @Sendable (inout HTTPRequest) -> Void
    ) async throws -> S3Conditions {
        let wire = IgnoringWire(ignores: ignores)
        let provider = try CrowdedWire.provider(wire)
        provider.probe.known.withLock { $0 = nil }
        let conditions = try await provider.probe.conditions()
        #expect(wire.store.state.withLock { $0.objects.isEmpty })
        return conditions
    }

    /// Returns the conditions found at a store that ignores a header of a method.
    private func found(
        ignoring header: String, of method: HTTPMethod, isCopy: Bool = false
    ) async throws -> S3Conditions {
        try await found { request in
            let isThis = request.headers.contains { $0.name.lowercased() == "x-amz-copy-source" }
            guard request.method == method, isThis == isCopy else { return }
            request.headers.removeAll { $0.name.lowercased() == header }
        }
    }

    @Test func `a store that honours all`() async throws {
        #expect(try await found { _ in } == S3Conditions())
    }

    @Test func `a store that ignores a condition of PUT`() async throws {
        var expected = S3Conditions()
        expected.putIfAbsent = false
        #expect(try await found(ignoring: "if-none-match", of: .put) == expected)
        expected = S3Conditions()
        expected.putIfVersion = false
        #expect(try await found(ignoring: "if-match", of: .put) == expected)
    }

    @Test func `a store that ignores a condition of a copy`() async throws {
        var expected = S3Conditions()
        expected.copyIfAbsent = false
        #expect(try await found(ignoring: "if-none-match", of: .put, isCopy: true) == expected)
        expected = S3Conditions()
        expected.copyIfVersion = false
        #expect(try await found(ignoring: "if-match", of: .put, isCopy: true) == expected)
        expected = S3Conditions()
        expected.copyIfSource = false
        #expect(
            try await found(ignoring: "x-amz-copy-source-if-match", of: .put, isCopy: true)
                == expected)
    }

    /// Then batches of deletions are not trusted either.
    @Test func `a store that ignores the condition of DELETE`() async throws {
        var expected = S3Conditions()
        expected.deleteIfVersion = false
        expected.batchIfVersion = false
        #expect(try await found(ignoring: "if-match", of: .delete) == expected)
    }

    @Test func `a store that takes a backslash for a slash`() async throws {
        var expected = S3Conditions()
        expected.keepsBackslash = false
        let found = try await found { $0.url = $0.url.replacing("%5C", with: "/") }
        #expect(found == expected)
    }

    /// Goal: a failure of the test is not taken for the outcome of the change that waits for it.
    @Test func `a store that does not find what it is asked to copy`() async throws {
        let wire = IgnoringWire { request in
            for index in request.headers.indices
            where request.headers[index].name.lowercased() == "x-amz-copy-source" {
                request.headers[index].value = "/bucket/nothing"
            }
        }
        let provider = try CrowdedWire.provider(wire)
        provider.probe.known.withLock { $0 = nil }
        let error = await #expect(throws: ProviderError.self) {
            try await provider.probe.conditions()
        }
        #expect(error?.kind == .busy)
        #expect(wire.store.state.withLock { $0.objects.isEmpty })
    }

    @Test(arguments: 1..<24, [false, true])
    func `test objects are removed once the credentials work again`(
        trusted: Int, missesWhatIsDeleted: Bool
    ) async throws {
        let store = TinyS3()
        let provider = try store.provider()
        provider.probe.known.withLock { $0 = nil }
        store.state.withLock { state in
            state.requestsTrusted = trusted
            state.missesWhatIsDeleted = missesWhatIsDeleted
        }
        do throws(ProviderError) {
            _ = try await provider.probe.conditions()
        } catch {
            #expect(error.kind == .unauthorized)
        }
        store.state.withLock { $0.requestsTrusted = .max }
        _ = try await provider.probe.conditions()
        #expect(store.state.withLock { $0.objects.keys.sorted() } == [])
    }

    /// Goal: the first change of a mount waits for few round trips.
    @Test func `a store is tested with four objects side by side`() async throws {
        let wire = CrowdedWire(expected: 4) { request in
            request.method == .put && request.url.contains("/.apus-probe-")
        }
        let provider = try CrowdedWire.provider(wire)
        provider.probe.known.withLock { $0 = nil }
        _ = try await provider.probe.conditions()
        #expect(wire.crowd.largest == 4)
        #expect(wire.store.state.withLock { $0.objects.isEmpty })
    }

    @Test(arguments: [true, false])
    func `a store is tested once, while the first change settles or with it`(
        isPrepared: Bool
    ) async throws {
        let store = TinyS3()
        let provider = try store.provider()
        provider.probe.known.withLock { $0 = nil }
        #expect(provider.preparesForChanges)
        if isPrepared {
            try await provider.prepareForChanges()
            #expect(!provider.preparesForChanges)
        }
        _ = try await provider.createDirectory(
            ObjectKey([try #require(FileName("new"))]),
            attributes: ObjectAttributes(modified: Timestamp(nanoseconds: 0), mode: 0o755))
        #expect(!provider.preparesForChanges)
        let names = store.state.withLock(\.requests).filter { request in
            request.method == .put && request.url.hasSuffix("-put")
        }
        #expect(names.count == 3, "the object of the tests of PUT: \(names.map(\.url))")
    }
}
