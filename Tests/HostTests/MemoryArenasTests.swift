import Testing

@testable import Host

@Suite struct MemoryArenasTests {
    @Test func `the C library accepts the limit of its arenas`() {
        #expect(MemoryArenas.limit())
    }
}
