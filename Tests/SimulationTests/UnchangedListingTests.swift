import GRDB
import Simulation
import Synchronization
import Testing

@testable import Engine

@Suite("A listing of an unchanged directory")
struct UnchangedListingTests {
    /// The statements that a database has executed.
    private final class StatementLog: Sendable {
        private let log = Mutex<[String]>([])

        var statements: [String] { log.withLock { $0 } }

        func note(_ statement: String) { log.withLock { $0.append(statement) } }
    }

    /// - Parameter listsMetadata: Whether the listing has modes and exact times.
    @Test(arguments: [true, false])
    func `takes few statements for each page, and writes nothing`(listsMetadata: Bool) throws {
        var settings = SimulatedMountSettings()
        settings.provider.pageEntries = 1_000
        settings.provider.listsMetadata = listsMetadata
        try Scenario.run(settings: settings) { remote in
            for number in 0..<1_000 {
                try remote.otherClientWrites(Scenario.key("file \(number)"), [1])
            }
        } _: { it in
            #expect(try await it.names(in: "").count == 1_000)
            try await it.refresh()
            let log = StatementLog()
            let before = try it.engine.store.write { database in
                database.trace { log.note($0.description) }
                return database.totalChangesCount
            }
            try await it.refresh()
            let after = try it.engine.store.read { database in
                database.trace(options: [])
                return database.totalChangesCount
            }
            #expect(log.statements.count <= 10, "\(log.statements.prefix(20))")
            let writes = log.statements.filter { statement in
                ["BEGIN IMM", "INSERT", "UPDATE", "DELETE"].contains { statement.hasPrefix($0) }
            }
            #expect(writes == [])
            #expect(after == before)
        }
    }

    /// Goal: an object counts as unchanged exactly if merging it changes nothing.
    @Test func `recognises each object that a merge would not change`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.latency = .zero...(.zero)
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("file"), [1], mode: 0o600)
            try remote.otherClientMakesDirectory(Scenario.key("directory"))
        } _: { it in
            #expect(try await it.names(in: "") == ["directory", "file"])
            for name in ["file", "directory"] {
                let object = try await it.remote.stat(Scenario.key(name))
                try it.engine.compareVerdicts(on: object)
            }
        }
    }
}

extension Engine {
    /// Compares the verdict about an object with a merge of it, for many local states and
    /// variants of the object.
    fileprivate func compareVerdicts(on object: RemoteObject) throws {
        let context = remote.merger.context
        var verdicts: Set<Bool> = []
        try store.write { database in
            let inode = try #require(try database.syncedInode(object.name, in: .root))
            for state in LocalChange.allCases {
                for variant in RemoteChange.allCases {
                    let changed = variant.apply(object)
                    try database.inSavepoint {
                        try state.apply(to: inode, object, in: database)
                        var merge = Merge(
                            database,
                            Merge.Context(
                                configuration: context.configuration, clock: context.clock,
                                logger: context.logger,
                                gate: PreciseEtags(inner: context.gate),
                                deletions: context.deletions,
                                agenda: context.agenda))
                        let known = try database.knownObjects([changed.name], in: .root)
                        let isUnchanged = known[0].map { merge.isUnchanged(changed, $0) } ?? false
                        let before = database.totalChangesCount
                        try merge.observe(changed, in: .root)
                        let isMergeIdle =
                            database.totalChangesCount == before
                            && merge.changes.cacheChanges.isEmpty
                        #expect(isUnchanged == isMergeIdle, "\(object.name) \(state) \(variant)")
                        verdicts.insert(isUnchanged)
                        return .rollback
                    }
                }
            }
        }
        #expect(verdicts == [true, false])
    }
}

/// A change of the local state, or of the known state of the remote.
private enum LocalChange: CaseIterable {
    case none, mode, time, symlink, symlinkTime, attributes, moreAttributes, written, incomplete
    case pending, unlinked, held, observed, noEtag, longerEtag

    func apply(to inode: InodeNumber, _ object: RemoteObject, in database: Database) throws {
        var record = try database.existingInode(inode)
        guard var synced = try database.synced(inode) else { return }
        switch self {
        case .none: break
        case .mode: record.mode = 0o700
        case .time: record.modified = Timestamp(seconds: 7)
        case .symlink, .symlinkTime:
            record.kind = .symlink
            record.target = [1]
            if self == .symlinkTime { record.modified = Timestamp(seconds: 7) }
        case .attributes:
            synced.extendedAttributes = RemoteChange.someAttributes
        case .moreAttributes:
            try database.setExtendedAttributes(RemoteChange.someAttributes, of: inode)
        case .written: try database.setRemoteModified(Timestamp(seconds: 10), of: inode)
        case .incomplete: record.hasMetadata = false
        case .pending: try database.markPending(inode, at: Timestamp(seconds: 1))
        case .unlinked: record.links = 0
        case .held:
            _ = try database.noteGone([inode], isHeld: true, at: Timestamp(seconds: 1), due: .zero)
        case .observed: break
        case .noEtag: synced.etag = nil
        case .longerEtag: synced.etag = synced.etag.map { ETag($0.description + "+") }
        }
        try database.update(record)
        if self != .held { try database.setSynced(synced, of: inode) }
        if self == .observed { try database.setRemote(.object(object), of: inode) }
    }
}

/// A change of an object as listed.
private enum RemoteChange: CaseIterable {
    case none, mode, noMode, time, etag, longerEtag, noEtag, directory, symlink, otherSymlink
    case attributes, noAttributes, incomplete, earlier, same, later, complete, name

    static let someAttributes =
        ExtendedAttributes(encoded: [1, 97, 1, 0, 0, 0, 1])
        ?? ExtendedAttributes()

    func apply(_ object: RemoteObject) -> RemoteObject {
        var object = object
        switch self {
        case .none: break
        case .mode: object.mode = 0o640
        case .noMode: object.mode = nil
        case .time: object.modified = Timestamp(seconds: 7)
        case .etag: object.etag = ETag("other")
        case .longerEtag: object.etag = object.etag.map { ETag($0.description + "+") }
        case .noEtag: object.etag = nil
        case .directory: object.kind = .directory
        case .symlink, .otherSymlink:
            object.kind = .symlink
            object.target = [self == .symlink ? 1 : 2]
        case .attributes: object.extendedAttributes = Self.someAttributes
        case .noAttributes: object.extendedAttributes = nil
        case .incomplete, .earlier, .same, .later:
            object.hasMetadata = false
            object.mode = nil
            object.extendedAttributes = nil
            let seconds: [Self: Int64] = [.earlier: 9, .same: 10, .later: 11]
            object.remoteModified = seconds[self].map { Timestamp(seconds: $0) }
        case .complete: object.remoteModified = Timestamp(seconds: 11)
        case .name: object.name = FileName(stored: [0xFF])
        }
        return object
    }
}

/// A store whose etags become longer as more is known of a version.
private struct PreciseEtags: ProviderWrapper {
    let inner: any Provider

    func around<Value: Sendable>(
        _ call: ProviderCall,
        _ request: @escaping @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        try await request()
    }

    func isSame(_ former: ETag, as etag: ETag) -> Bool {
        etag.description.hasPrefix(former.description)
    }
}
