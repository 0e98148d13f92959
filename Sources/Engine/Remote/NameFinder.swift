/// Finds a name in a directory that was never listed.
///
/// The directory's listing answers for all its names, but may take minutes. Once it has taken
/// longer than ``headStart``, a question for the one name goes ahead of it. If listings lack metadata, which
/// a lookup needs too, the question is asked at once, beside the listing. An object found so is
/// merged like a page of the listing; a missing one is not remembered.
///
/// The first name of all is that of a file that a program opens by its path, in many cases. So the question
/// for it comes first, and has the first bytes sent too, if that costs no round trip. The open then needs
/// none.
struct NameFinder: Sendable {
    let store: Store
    let clock: any Clock
    let gate: RemoteGate
    let activity: RemoteActivity
    let answers: OutdatedAnswers
    let lister: Lister
    let merger: Merger
    let firstBytes: FirstBytes
    let places = QuestionPlaces()

    /// The duration of a listing that costs no further request; and how much longer than the listing a
    /// question may take that was asked beside it.
    static var headStart: Duration { .milliseconds(200) }
    /// How long the listing waits for the first question, which gets the connections that are open.
    private static var listingDelay: Duration { .milliseconds(5) }

    /// Whether a name of a listing is followed by a request for its metadata, see ``MetadataFetcher``.
    private var needsMetadata: Bool {
        !gate.traits.listsMetadata && !gate.traits.trustsListings
    }

    /// Whether a question can be answered before the listing, and the user does not mind it.
    private var mayAskFirst: Bool {
        gate.givesFirstBytes && !gate.traits.trustsListings && !gate.traits.names.isFolding
    }

    private enum Outcome: Sendable {
        case listed(Result<Void, any Error>)
        case answered(NameAnswer)
    }

    /// Returns once the name, or the whole directory, is known.
    ///
    /// - Throws: `.notFound` if the remote has no such name; otherwise as ``Lister/list(_:)``.
    func find(_ name: FileName, in directory: InodeNumber) async throws {
        guard let record = try store.read({ try $0.inode(directory) }), !record.isListed else {
            return
        }
        let isFirst = mayAskFirst && lister.listings.flight(of: directory) == nil
        if !isFirst {
            let flight = lister.listings.request(directory, at: clock.uptime)
            if !needsMetadata {
                await flight.completion.wait(
                    after: 0, until: flight.begin + Self.headStart, on: clock)
            }
            guard flight.completion.notifications == 0, !Task.isCancelled else {
                return try await lister.listings.awaitEnd(of: flight, for: directory, on: clock)
            }
        }
        switch await firstEnd(name, in: directory, isFirst: isFirst) {
        case .listed(let result): try result.get()
        case .answered(.absent):
            throw EngineError(.notFound, "find \"\(name)\" in inode \(directory)")
        case .answered: break
        }
    }

    /// Asks for the name beside a listing.
    ///
    /// - Parameter isFirst: Whether no listing was requested before.
    /// - Returns: The outcome that came first; a failure only if both failed.
    private func firstEnd(
        _ name: FileName, in directory: InodeNumber, isFirst: Bool
    ) async -> Outcome {
        let isAsked = Locked(false)
        return await withTaskGroup(of: Outcome.self) { group in
            group.addTask {
                // The answer ends the wait, not the listing.
                if isFirst { try? await clock.sleep(until: clock.uptime + Self.listingDelay) }
                return .listed(await listingEnd(of: directory))
            }
            group.addTask {
                .answered(await ask(for: name, in: directory, isFirst: isFirst, noting: isAsked))
            }
            defer { group.cancelAll() }
            var end = Outcome.answered(.unclear)
            while let outcome = await group.next() {
                switch (outcome, end) {
                case (.answered(.unclear), .listed(.success)): return end
                case (.answered(.unclear), _): isAsked.withLock { $0 = false }
                // The answer may still come.
                case (.listed(.failure), _): end = outcome
                case (.listed(.success), .answered)
                where isAsked.withLock({ $0 }) && (isFirst || lacksMetadata(name, in: directory)):
                    // The same would be asked again, or the same bytes.
                    end = outcome
                    group.addTask {
                        try? await clock.sleep(until: clock.uptime + Self.headStart)
                        return outcome
                    }
                case (.listed(.success), _), (.answered, _): return outcome
                }
            }
            return end
        }
    }

    private func lacksMetadata(_ name: FileName, in directory: InodeNumber) -> Bool {
        let isKnown = try? store.readBriefly {
            try $0.inode(named: name, in: directory)?.hasMetadata
        }
        return needsMetadata && isKnown == false
    }

    /// Lists a directory, or awaits the listing in progress.
    private func listingEnd(of directory: InodeNumber) async -> Result<Void, any Error> {
        let flight = lister.listings.request(directory, at: clock.uptime)
        do {
            return .success(
                try await lister.listings.awaitEnd(of: flight, for: directory, on: clock))
        } catch {
            return .failure(error)
        }
    }

    /// - Parameters:
    ///   - isFirst: Whether the first bytes of a file are asked for, too.
    ///   - isAsked: Set once the question has a place.
    /// - Returns: `.unclear` after a failure too: the listing decides.
    private func ask(
        for name: FileName, in directory: InodeNumber, isFirst: Bool, noting isAsked: Locked<Bool>
    ) async -> NameAnswer {
        guard let key = try? store.read({ try $0.remoteKey(of: directory) }) else {
            return .unclear
        }
        guard await places.take(for: directory) else { return .unclear }
        defer { places.free(for: directory) }
        isAsked.withLock { $0 = true }
        let begin = clock.uptime
        let watch = activity.watch(key)
        defer { activity.end(watch) }
        let question = ListingMerge(
            directory: directory, key: key, activity: activity, watch: watch,
            names: gate.traits.names)
        var start: ObjectStart?
        do throws(ProviderError) {
            let found = try await look(at: key.appending(name), isFirst: isFirst)
            let isHidden = lister.configuration.exclusions.contain(
                key.names + [name], isDirectory: found.object.kind == .directory)
            if !isHidden { start = found }
        } catch {
            guard error.kind == .missing else { return .unclear }
        }
        let answer = try? merger.merge { try $0.take(start?.object, named: name, question) }
        if answer == .unclear { try? answers.settleDoubt(atOrAbove: directory) }
        if answer == .found, let start { keepBytes(of: start, name, in: directory, from: begin) }
        return answer ?? .unclear
    }

    private func look(
        at key: ObjectKey, isFirst: Bool
    ) async throws(ProviderError) -> ObjectStart {
        guard isFirst else { return ObjectStart(object: try await gate.stat(key), bytes: []) }
        return try await gate.stat(key, firstBytes: FirstBytes.bytesMax)
    }

    private func keepBytes(
        of start: ObjectStart, _ name: FileName, in directory: InodeNumber, from begin: Duration
    ) {
        guard !start.bytes.isEmpty, let etag = start.object.etag,
            let inode = try? store.readBriefly({ try $0.dirent(name, in: directory)?.inode })
        else { return }
        firstBytes.keep(start.bytes, of: inode, etag, at: begin)
    }
}
