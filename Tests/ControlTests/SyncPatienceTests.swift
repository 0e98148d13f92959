import Control
import Testing

@Suite("A sync that cannot send everything") struct SyncPatienceTests {
    private static let wait = SyncProgress.Wait(
        path: "a", error: Problem(what: "upload \"a\"", why: "status 500"), attempts: 3,
        retryAt: nil)
    private var patience = SyncPatience()

    private func progress(
        pending: UInt64, sent: UInt64 = 0, waits: Bool = true, isUnreachable: Bool = false
    ) -> SyncProgress {
        var progress = SyncProgress(isDone: false)
        progress.pending = pending
        progress.bytesSent = sent
        progress.waiting = waits ? [Self.wait] : nil
        if isUnreachable { progress.unreachable = Problem(what: "reach", why: "gone") }
        return progress
    }

    private mutating func limited(
        _ progress: SyncProgress, isSending: Bool = false,
        unanswered: [SyncProgress.Failure] = [], at seconds: Int
    ) -> SyncProgress {
        var progress = progress
        patience.limit(
            &progress, isSending: isSending, unanswered: unanswered, at: .seconds(seconds))
        return progress
    }

    @Test mutating func `ends when a deletion is not answered and nothing else moves`() {
        let silent = SyncProgress.Failure(
            path: "b", error: Problem(what: "send \"b\"", why: "no answer"))
        let state = progress(pending: 2, waits: false)
        #expect(!limited(state, isSending: true, at: 70).isDone, "it may still be answered")
        #expect(!limited(state, unanswered: [silent], at: 100).isDone)
        #expect(!limited(state, isSending: true, unanswered: [silent], at: 140).isDone)
        let last = limited(state, unanswered: [silent], at: 141)
        #expect(last.isDone && last.unsent == 2)
        #expect(last.failed == [silent])
    }

    @Test mutating func `ends when an item fails for half a minute and nothing else moves`() {
        #expect(!limited(progress(pending: 2), at: 100).isDone)
        #expect(!limited(progress(pending: 1), at: 120).isDone, "another one got there")
        #expect(!limited(progress(pending: 1, sent: 5), at: 140).isDone, "bytes did")
        #expect(!limited(progress(pending: 1, sent: 5), at: 169).isDone)
        let last = limited(progress(pending: 1, sent: 5), at: 170)
        #expect(last.isDone && last.unsent == 1)
        #expect(last.failed.map(\.path) == ["a"])
        #expect(last.failed.map(\.error.why) == ["status 500"])
    }

    @Test mutating func `waits as long as something is being sent, or nothing fails`() {
        _ = limited(progress(pending: 1), at: 0)
        #expect(!limited(progress(pending: 1), isSending: true, at: 1_000).isDone)
        #expect(!limited(progress(pending: 1, waits: false), at: 2_000).isDone)
    }

    @Test mutating func `ends when the remote is out of reach for half a minute`() {
        #expect(!limited(progress(pending: 3, waits: false), at: 0).isDone)
        let state = progress(pending: 3, waits: false, isUnreachable: true)
        #expect(!limited(state, isSending: true, at: 100).isDone)
        #expect(!limited(state, isSending: true, at: 129).isDone)
        let last = limited(state, isSending: true, at: 130)
        #expect(last.isDone && last.unsent == 3)
        #expect(last.failed.map(\.error.why) == ["gone"])
    }
}
