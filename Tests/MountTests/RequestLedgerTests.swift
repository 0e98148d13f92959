import Testing

@testable import Mount

struct RequestLedgerTests {
    private var ledger = RequestLedger<String>(countMax: 2)

    private mutating func admitted() throws -> RequestTicket {
        try #require(ledger.admit().ticket)
    }

    @Test
    mutating func `each request has its own ticket`() throws {
        let first = try admitted()
        let second = try admitted()
        #expect(first != second)
        #expect(first.rawValue > 0)
        #expect(ledger.count == 2)
    }

    @Test
    mutating func `a running request is cancelled`() throws {
        let ticket = try admitted()
        let isCancelled = ledger.started(ticket, "work")
        #expect(!isCancelled)
        let work = ledger.cancel(ticket)
        #expect(work == "work")
    }

    @Test
    mutating func `a request that is interrupted before it starts is cancelled when it does`()
        throws
    {
        let ticket = try admitted()
        let work = ledger.cancel(ticket)
        #expect(work == nil)
        let isCancelled = ledger.started(ticket, "work")
        #expect(isCancelled)
    }

    @Test
    mutating func `an interrupt after the end has no effect`() throws {
        let ticket = try admitted()
        _ = ledger.started(ticket, "work")
        ledger.finished(ticket)
        let work = ledger.cancel(ticket)
        #expect(work == nil)
        #expect(ledger.count == 0)
    }

    @Test
    mutating func `a request may end before its start is noted`() throws {
        let ticket = try admitted()
        ledger.finished(ticket)
        let isCancelled = ledger.started(ticket, "work")
        #expect(!isCancelled)
        #expect(ledger.count == 0)
    }

    @Test
    mutating func `stopping cancels all requests and admits no more`() throws {
        let running = try admitted()
        _ = ledger.started(running, "running")
        let admitted = try admitted()
        let toCancel = ledger.stop()
        #expect(toCancel == ["running"])
        let refused = ledger.admit()
        #expect(refused == .stopped)
        let isCancelled = ledger.started(admitted, "admitted")
        #expect(isCancelled)
    }

    @Test
    mutating func `a request beyond the bound is refused until another ends`() throws {
        let first = try admitted()
        _ = try admitted()
        let refused = ledger.admit()
        #expect(refused == .full)
        ledger.finished(first)
        _ = try admitted()
    }
}

extension RequestAdmission {
    var ticket: RequestTicket? {
        if case .admitted(let ticket) = self { ticket } else { nil }
    }
}
