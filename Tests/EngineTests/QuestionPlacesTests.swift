import Testing

@testable import Engine

@Suite("Questions for single names") struct QuestionPlacesTests {
    private let places = QuestionPlaces()
    private let directory = InodeNumber(rawValue: 7)

    @Test(.timeLimit(.minutes(1))) func `beyond the bound wait for a place in their directory`()
        async
    {
        for _ in 0..<QuestionPlaces.placesMax { #expect(await places.take(for: directory)) }
        #expect(await places.take(for: .root), "directories do not wait for each other")
        let (places, directory) = (places, directory)
        async let waiting = places.take(for: directory)
        places.free(for: directory)
        #expect(await waiting)
    }

    @Test(.timeLimit(.minutes(1))) func `stop to wait if they are cancelled`() async {
        for _ in 0..<QuestionPlaces.placesMax { #expect(await places.take(for: directory)) }
        let (places, directory) = (places, directory)
        let waiting = Task { await places.take(for: directory) }
        waiting.cancel()
        #expect(await waiting.value == false)
    }
}
