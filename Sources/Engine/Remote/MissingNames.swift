/// The known names that a complete listing lacks, in any number: they are read again for each step rather
/// than kept in memory.
struct MissingNames {
    let listing: ListingMerge
    let merger: Merger
    let clock: any Clock
    /// Limit of those that one transaction records.
    let recordedMax: Int

    /// Returns them if they are few enough to be merged in one transaction; else nil.
    func few(isFirst: Bool) throws -> [RemoteName]? {
        if listing.isOfUnknown { return [] }
        let limit = isFirst ? ListingEnd.leftoversMax : recordedMax
        var (all, last): ([RemoteName], FileName?) = ([], nil)
        repeat {
            let (missing, next) = try merger.compare {
                try listing.missing(after: last, $0.database)
            }
            all += missing
            if all.count > limit { return nil }
            last = next
        } while last != nil
        return all
    }

    /// Records the deletions of all of them, some in each transaction.
    ///
    /// First all of them are counted, without a change. If the user has to confirm them, that is stored
    /// before the first one is recorded: if the process dies before the last one, the next listing holds
    /// the others too. Otherwise it counts these anew, and they are fewer.
    ///
    /// - Returns: Whether they are held; nil if the directory was moved or removed meanwhile.
    func record() async throws -> Bool? {
        let count = try await count()
        guard let isHeld = try merger.merge({ try $0.judge(listing, items: count) }) else {
            return nil
        }
        var last: FileName?
        repeat {
            let (missing, next) = try merger.compare {
                try listing.missing(after: last, $0.database)
            }
            for piece in missing.pieces(of: recordedMax) {
                let isRecorded = try merger.merge {
                    try $0.noteMissing(Array(piece), listing, isHeld: isHeld)
                }
                guard isRecorded else { return nil }
                await Task.yield()
            }
            last = next
        } while last != nil
        return isHeld
    }

    /// Has the guard count them, with all that is below them.
    private func count() async throws -> Int {
        var (count, last): (Int, FileName?) = (0, nil)
        repeat {
            let (more, next) = try merger.compare { merge in
                let (missing, next) = try listing.missing(after: last, merge.database)
                let more = try merge.context.deletions.countRemote(
                    missing.map(\.inode), at: clock.uptime, merge.database)
                return (more, next)
            }
            (count, last) = (count + more, next)
            await Task.yield()
        } while last != nil
        return count
    }
}
