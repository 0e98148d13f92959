/// Content that is not needed any more, and whose space is not free yet.
struct UnneededContent: Sendable {
    /// Removes that of unlinked files.
    let flusher: Flusher
    let leftovers: Leftovers
    let evicted: EvictedContent
}
