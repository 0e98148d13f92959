import Logging

/// Makes content safe in the background, and removes content that a power cut must not bring back
/// a name for.
///
/// A pass synchronises written content, then the database, and only then removes the content of
/// unlinked files: so no name survives a power cut without its content.
struct Flusher: Sendable {
    let clock: any Clock
    let logger: Logger
    let durability: Durability
    let reaper: Reaper

    /// Makes a pass every few seconds, until cancelled.
    ///
    /// - Parameter rewriteSome: See ``SuspectRewriter/rewriteSome()``. Called before each pass, which
    ///   synchronises these files then, until there are no more of them.
    func run(rewriteSome: () throws(Blocked) -> Bool) async {
        var hasSuspects = true
        while !Task.isCancelled {
            var isRewriting = false
            if hasSuspects {
                attempt { () throws(Blocked) in
                    hasSuspects = try rewriteSome()
                    isRewriting = hasSuspects
                }
            }
            let isComplete = attempt(makePass)
            let pause: Duration = isRewriting && isComplete ? .zero : .seconds(5)
            try? await clock.sleep(until: clock.uptime + pause)
        }
    }

    private func makePass() throws(Blocked) {
        try durability.keepSafe()
        try durability.keepEvictionsSafe()
        if try reaper.reapWaiting() { try durability.forgetRemoved() }
    }

    /// - Returns: Whether it succeeded.
    @discardableResult
    private func attempt(_ work: () throws(Blocked) -> Void) -> Bool {
        do throws(Blocked) {
            try work()
            return true
        } catch {
            logger.warning("content not synchronized yet", metadata: ["reason": "\(error)"])
            return false
        }
    }

    /// Removes the content of unlinked files now, as space is short. No lock may be held.
    ///
    /// - Returns: Whether any was removed.
    func removeUnlinked() throws(Blocked) -> Bool {
        guard reaper.isWaiting else { return false }
        try durability.keepSafe()
        guard try reaper.reapWaiting() else { return false }
        try durability.forgetRemoved()
        return true
    }

    /// Makes the last pass of a mount, after the last write. Content that the remote has too is not
    /// worth waiting for a busy disk.
    ///
    /// - Parameter rewriteSuspects: See ``SuspectRewriter/finish()``.
    func finish(rewriteSuspects: () throws(Blocked) -> Void) {
        attempt(rewriteSuspects)
        durability.keepPendingSafe()
        do throws(Blocked) {
            try reaper.reapWaiting()
        } catch {
            // The next start removes it.
            logger.warning("removed content kept", metadata: ["reason": "\(error)"])
        }
    }
}
