package import Engine
import Synchronization

/// A store in memory, with latency, transfers in pieces, and faults, all from one seed.
///
/// It has no threads and waits only with its clock, so that a run on a seeded executor replays
/// exactly. Every call first waits for its latency, then decides its fault, then does its work in
/// one step. Transfers move their pieces at different moments and publish or check at the end.
package final class SimulatedProvider: Provider {
    package let traits: ProviderTraits

    struct State {
        var tree: SimulatedProviderTree
        var random: SeededGenerator
        var faults = SimulatedProviderFaults()
        var isReachable = true
        /// See ``setSettlesAtOnce(_:)``.
        var settlesAtOnce = true
        /// Calls whose text contains this are not answered.
        var standing: String?
        /// The latency of calls whose text contains `attempts`, instead of that of the settings.
        var delay: (duration: Duration, attempts: String)?
        /// The bytes received of uploads that can be resumed.
        var uploads: [UploadToken: [UInt8]] = [:]
        var uploadsBegun = 0
        var bytesReceived: UInt64 = 0
        var reads = Reads()
        var bytesSent: UInt64 = 0
        var refusal: Refusal?
        var refusalsGiven = 0
        var isAuthorized = true
        var isPrepared = false
        /// See ``setHasEveryName(_:)``.
        var hasEveryName = false
        var endlessPages: EndlessPages?
        var endlessPagesGiven = 0
        var feed: SimulatedFeed?
        var listingsGiven = 0
        var reportsAsked = 0
    }

    struct Reads {
        /// See ``damageReads(_:)``.
        var toDamage = 0
        var bytes: UInt64 = 0
        var checksums = 0
        var underWay = 0
        var underWayMax = 0
    }

    struct Refusal {
        let kind: ProviderError.Kind
        let attempts: String
        let retryAfter: Duration?
        let cause: (any Error)?
    }

    /// The pages after the last one, of a store whose listings do not end.
    package enum EndlessPages: Sendable {
        /// The same page, repeated.
        case same
        /// Empty pages.
        case empty
        /// Files that do not exist, one per page.
        case invented

        /// - Parameter number: 1 for the first one.
        fileprivate func page(_ number: Int, after objects: [RemoteObject]) -> [RemoteObject] {
            switch self {
            case .same: return objects
            case .empty: return []
            case .invented:
                let invented = FileName("invented \(number)").map { name in
                    RemoteObject(
                        name: name, kind: .file, etag: ETag("\(number)"), size: 0,
                        modified: Timestamp(seconds: 1), mode: 0o644)
                }
                return invented.map { [$0] } ?? []
            }
        }
    }

    typealias Tree = SimulatedProviderTree

    let clock: any Clock
    let settings: SimulatedProviderSettings
    let state: Mutex<State>
    /// Notified when ``State/feed`` may have something to report.
    let changeSignal = Signal()

    package init(
        clock: any Clock, random: SeededGenerator,
        settings: SimulatedProviderSettings = SimulatedProviderSettings()
    ) {
        self.clock = clock
        self.settings = settings
        traits = ProviderTraits(
            name: "simulation", keepsMode: true, keepsSymlinks: true,
            modifiedResolution: .nanoseconds(1), transfersMax: 4,
            movesDirectoriesAtOnce: settings.movesDirectoriesAtOnce,
            keepsVersionsInMoves: settings.movesFilesAtOnce,
            storesAttributesAtOnce: settings.storesAttributesAtOnce,
            recognisesWrites: settings.storesAttributesAtOnce,
            announcesWrites: settings.storesAttributesAtOnce && settings.tellsVersionsAhead,
            listsMetadata: settings.listsMetadata, trustsListings: settings.trustsListings,
            keepsChecksums: settings.checksums != .none,
            extendedAttributes: ExtendedAttributeSpace(
                bytesMax: settings.extendedAttributesBytesMax, bytes: \.byteCount),
            names: settings.tellsNames ? settings.names : .exact)
        state = Mutex(
            State(
                tree: Tree(names: settings.names, decomposesNames: settings.decomposesNames),
                random: random,
                feed: settings.feed.map { SimulatedFeed($0, names: settings.names) }))
    }

    // MARK: Reading

    package func entries(of directory: ObjectKey) -> ListingCursor {
        ListingCursor(ListingPlace()) { place async throws(ProviderError) in
            try await self.page(of: directory, &place)
        }
    }

    private struct ListingPlace {
        var isStart = true
        var hadEmptyPage = false
        /// The last name of the page before; nil at the start, and after endless pages.
        var last: FileName?
        /// The directory as it was at the first page, if the other pages are on this machine.
        var spool: [RemoteObject]?
    }

    private func page(
        of directory: ObjectKey, _ place: inout ListingPlace
    ) async throws(ProviderError) -> ListingPage {
        if let spool = place.spool {
            try await wait(settings.spoolDelay)
            return state.withLock { state in
                Self.page(of: spool, at: &place, entries: settings.pageEntries, &state.random)
            }
        }
        try await arrive("list \"\(directory)\"")
        if let delay = settings.emptyPageDelay, !place.hadEmptyPage {
            place.hadEmptyPage = true
            try await wait(delay)
            return ListingPage(objects: [], isLast: false)
        }
        for _ in 0..<settings.listingSigns.count {
            try await wait(settings.listingSigns.interval)
            SignOfLife.note?()
        }
        return try state.withLock { state throws(ProviderError) in
            let isStart = place.isStart
            place.isStart = false
            if isStart, state.random.happens(state.faults[.staleListing]),
                let listed = try? state.tree.node(directory).listed
            {
                // An honest feed reports the change once listings show it.
                state.feed?.note([.entries(directory)], at: clock.uptime, &state.random)
                defer { changeSignal.notify() }
                return ListingPage(objects: listed, isLast: true)
            }
            var objects = try state.tree.children(of: directory)
            if !settings.listsMetadata { objects = objects.map(\.withoutDetails) }
            if isStart {
                state.tree.rememberListing(objects, of: directory)
                state.listingsGiven += 1
            }
            guard let pages = state.endlessPages else {
                if settings.spoolsListings { place.spool = objects }
                return Self.page(
                    of: objects, at: &place, entries: settings.pageEntries, &state.random)
            }
            if !isStart {
                state.endlessPagesGiven += 1
                objects = pages.page(state.endlessPagesGiven, after: objects)
            }
            return ListingPage(objects: objects, isLast: false)
        }
    }

    package func probe() async throws(ProviderError) {
        try await arrive(FreshConnection.isWanted ? "probe anew" : "probe by an idle connection")
    }

    package func stat(_ key: ObjectKey) async throws(ProviderError) -> RemoteObject {
        try await arrive("stat \"\(key)\"")
        return try state.withLock { state throws(ProviderError) in
            if state.hasEveryName, let name = key.names.last,
                (try? state.tree.number(of: key)) == nil
            {
                return RemoteObject(
                    name: name, kind: .file, etag: ETag("every"), size: 5,
                    modified: Timestamp(nanoseconds: 0), mode: nil)
            }
            var object = try state.tree.object(key)
            if !state.settlesAtOnce {
                object.remoteModified = object.remoteModified.map {
                    Timestamp(nanoseconds: $0.nanoseconds - 1)
                }
            }
            return object
        }
    }

    package var givesFirstBytes: Bool { settings.givesFirstBytes }

    package func stat(
        _ key: ObjectKey, firstBytes count: Int
    ) async throws(ProviderError) -> ObjectStart {
        var start = ObjectStart(object: try await stat(key), bytes: [])
        guard settings.givesFirstBytes, let etag = start.object.etag else { return start }
        start.bytes = state.withLock { state in
            if settings.omitsFirstBytes, state.random.nextBool() { return [] }
            // The version may be another one by now.
            guard let file = try? state.tree.file(key, etag: etag) else {
                return []
            }
            return Array(file.bytes.prefix(count))
        }
        return start
    }

    package var preparesForChanges: Bool {
        settings.preparesForChanges && !state.withLock(\.isPrepared)
    }

    package func prepareForChanges() async throws(ProviderError) {
        try await arrive("prepare for changes")
        state.withLock { $0.isPrepared = true }
    }

    package func space() async throws(ProviderError) -> StorageSpace? {
        try await arrive("ask for the free space")
        guard settings.tellsSpace else { return nil }
        let stored = state.withLock { $0.tree.bytesStored }
        return StorageSpace(
            totalBytes: settings.capacityBytes,
            availableBytes: settings.capacityBytes - min(stored, settings.capacityBytes))
    }

    package func publicLink(to key: ObjectKey) async throws(ProviderError) -> String {
        try await arrive("make a link to \"\(key)\"")
        return try state.withLock { state throws(ProviderError) in
            _ = try state.tree.object(key)
            return "https://cloud.example.org/\(key)"
        }
    }

    // MARK: Changes

    package func createDirectory(
        _ key: ObjectKey, attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        try await arrive("create the directory \"\(key)\"")
        return try change { tree throws(ProviderError) in
            let node = Tree.Node(
                kind: .directory, modified: attributes.modified, mode: attributes.mode,
                extendedAttributes: attributes.extendedAttributes)
            return try tree.create(node, at: key)
        }
    }

    package func createSymlink(
        _ key: ObjectKey, target: [UInt8], attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        try await arrive("create the symbolic link \"\(key)\"")
        return try change { tree throws(ProviderError) in
            guard (1...4095).contains(target.count), !target.contains(0) else {
                throw ProviderError(.unsupported, "no link points there")
            }
            let node = Tree.Node(
                kind: .symlink, target: target, modified: attributes.modified, mode: 0o777)
            return try tree.create(node, at: key)
        }
    }

    package func setAttributes(
        _ key: ObjectKey, to attributes: ObjectAttributes, only fields: AttributeFields,
        etag: ETag?, nonce: WriteNonce?
    ) async throws(ProviderError) -> RemoteObject {
        try await arrive("set the attributes of \"\(key)\"")
        return try change(isRepeatable: etag != nil) { tree throws(ProviderError) in
            try tree.setAttributes(key, to: attributes, only: fields, etag: etag, nonce: nonce)
        }
    }

    package func delete(
        _ key: ObjectKey, kind: FileKind, etag: ETag?
    ) async throws(ProviderError) {
        try await arrive("delete \"\(key)\"")
        try change(isRepeatable: etag != nil) { tree throws(ProviderError) in
            try tree.delete(key, kind: kind, etag: etag)
        }
    }

    // MARK: Waiting and failing

    /// Performs one of several steps of a change; the connection may break after any.
    func step<Value: Sendable>(
        _ step: (inout Tree) throws(ProviderError) -> Value
    ) throws(ProviderError) -> Value {
        do throws(ProviderError) {
            return try change(step)
        } catch {
            // Earlier steps are not undone, so the caller has to look up the result.
            if error.kind == .missing || error.kind == .changed {
                throw ProviderError(.unreachable, error.reason)
            }
            throw error
        }
    }

    /// Waits for the request to arrive; it may fail before anything has happened.
    ///
    /// - Parameter isTransfer: Whether an unanswered call ends by itself.
    func arrive(_ attempt: String, isTransfer: Bool = false) async throws(ProviderError) {
        let isStandingStill =
            state.withLock(\.standing).map { $0.isEmpty || attempt.contains($0) } ?? false
        let latency = state.withLock { state in
            let drawn = state.random.duration(in: settings.latency)
            guard let delay = state.delay,
                attempt.contains(delay.attempts) || delay.attempts.isEmpty
            else { return drawn }
            return delay.duration
        }
        if isStandingStill {
            try await wait(.seconds(isTransfer ? 30 : 1_000_000))
            if isTransfer {
                throw ProviderError(.unreachable, "no byte moved")
            }
        } else {
            try await wait(latency)
        }
        try state.withLock { state throws(ProviderError) in
            try Self.checkReachable(state)
            if let refusal = state.refusal,
                refusal.attempts.isEmpty || attempt.contains(refusal.attempts)
            {
                state.refusalsGiven += 1
                throw ProviderError(
                    refusal.kind, "it is refused", retryAfter: refusal.retryAfter,
                    cause: refusal.cause)
            }
            if state.random.happens(state.faults[.unreachableBefore]) {
                throw ProviderError(.unreachable, "the request was lost")
            }
            if state.random.happens(state.faults[.busy]) {
                throw ProviderError(
                    .busy, "too many requests", retryAfter: settings.retryAfter)
            }
        }
    }

    func pause() async throws(ProviderError) {
        try await wait(state.withLock { $0.random.duration(in: settings.pieceDelay) })
    }

    func wait(_ duration: Duration) async throws(ProviderError) {
        do {
            try await clock.sleep(until: clock.uptime + duration)
            try Task.checkCancellation()
        } catch {
            throw ProviderError(.cancelled, "cancelled")
        }
    }

    /// Makes a change in one step. Its reply may be lost afterwards.
    func change<Value: Sendable>(
        isRepeatable: Bool = false, _ step: (inout Tree) throws(ProviderError) -> Value
    ) throws(ProviderError) -> Value {
        defer { changeSignal.notify() }
        return try state.withLock { state throws(ProviderError) in
            try Self.checkReachable(state)
            defer { state.noteChanges(at: clock.uptime) }
            var value = try step(&state.tree)
            if isRepeatable, state.random.happens(state.faults[.repeated]) {
                value = try step(&state.tree)
            }
            if state.random.happens(state.faults[.unreachableAfter]) {
                throw ProviderError(.unreachable, "the answer was lost")
            }
            return value
        }
    }

    static func checkReachable(
        _ state: borrowing State
    ) throws(ProviderError) {
        guard state.isReachable else {
            throw ProviderError(.unreachable, "there is no network")
        }
        guard state.isAuthorized else {
            throw ProviderError(.unauthorized, "the token has expired")
        }
    }

    /// A page of names in their order, shuffled.
    private static func page(
        of objects: [RemoteObject], at place: inout ListingPlace, entries: Int,
        _ random: inout SeededGenerator
    ) -> ListingPage {
        let rest = objects.drop { object in place.last.map { object.name <= $0 } ?? false }
        let page = rest.prefix(entries)
        place.last = page.last?.name
        return ListingPage(
            objects: page.shuffled(using: &random), isLast: page.count == rest.count,
            isNextLocal: place.spool != nil)
    }

    // MARK: Another client

    /// Runs a change as another client of the same store would make it: at once, without faults.
    func edit<Value: Sendable>(
        _ step: (inout Tree) throws(ProviderError) -> Value
    ) throws(ProviderError) -> Value {
        defer { changeSignal.notify() }
        return try state.withLock { state throws(ProviderError) in
            state.tree.client = .other
            defer {
                state.tree.client = .mount
                state.noteChanges(at: clock.uptime)
            }
            return try step(&state.tree)
        }
    }
}

extension RemoteObject {
    /// The object without its headers, as in a listing of S3.
    fileprivate var withoutDetails: RemoteObject {
        guard kind != .symlink else { return self }
        var object = self
        object.mode = nil
        object.extendedAttributes = nil
        object.hasMetadata = false
        return object
    }
}
