import Testing

@testable import Mount

struct RequestLedgerTests {
    private var ledger = RequestLedger<String>()

    @Test
    mutating func `each request has a ticket of its own`() throws {
        let first = try #require(ledger.admit())
        let second = try #require(ledger.admit())
        #expect(first != second)
        #expect(first.rawValue > 0)
        #expect(ledger.count == 2)
    }

    @Test
    mutating func `a running request is cancelled`() throws {
        let ticket = try #require(ledger.admit())
        #expect(!ledger.started(ticket, "work"))
        #expect(ledger.cancel(ticket) == "work")
    }

    @Test
    mutating func `a request that is interrupted before it starts is cancelled when it does`()
        throws
    {
        let ticket = try #require(ledger.admit())
        #expect(ledger.cancel(ticket) == nil)
        #expect(ledger.started(ticket, "work"))
    }

    @Test
    mutating func `an interrupt that comes too late changes nothing`() throws {
        let ticket = try #require(ledger.admit())
        _ = ledger.started(ticket, "work")
        ledger.finished(ticket)
        #expect(ledger.cancel(ticket) == nil)
        #expect(ledger.count == 0)
    }

    @Test
    mutating func `a request may end before its starter says so`() throws {
        let ticket = try #require(ledger.admit())
        ledger.finished(ticket)
        #expect(!ledger.started(ticket, "work"))
        #expect(ledger.count == 0)
    }

    @Test
    mutating func `stopping cancels all and admits none`() throws {
        let running = try #require(ledger.admit())
        _ = ledger.started(running, "running")
        let admitted = try #require(ledger.admit())
        #expect(ledger.stop() == ["running"])
        #expect(ledger.admit() == nil)
        #expect(ledger.started(admitted, "admitted"))
    }
}
