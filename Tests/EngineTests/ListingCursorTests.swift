import Testing

@testable import Engine

@Suite("A listing cursor")
struct ListingCursorTests {
    private final class State: Sendable {}

    /// A listing of several pages, which fails instead of returning its third one.
    private func cursor(freeing state: inout State?) -> ListingCursor {
        let start = (page: 0, state: state)
        state = nil
        return ListingCursor(start) { place async throws(ProviderError) in
            place.page += 1
            guard place.page < 3 else {
                throw ProviderError(.busy, attempt: "list", reason: "\(place.page)")
            }
            return ListingPage(objects: [], isLast: false)
        }
    }

    @Test func `keeps its state until it is dropped`() async throws {
        var state: State? = State()
        weak let freed = state
        var cursor: ListingCursor? = cursor(freeing: &state)
        _ = try await cursor?.next()
        #expect(freed != nil)
        cursor = nil
        #expect(freed == nil)
    }

    @Test func `drops its state at a failure`() async throws {
        var state: State? = State()
        weak let freed = state
        let cursor = cursor(freeing: &state)
        for _ in 0..<2 { _ = try await cursor.next() }
        let error = await #expect(throws: ProviderError.self) { try await cursor.next() }
        #expect(error?.reason == "3")
        #expect(freed == nil)
    }
}
