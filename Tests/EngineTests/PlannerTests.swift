import Testing

@testable import Engine

/// What is planned for each combination of local, synced and remote; `docs/sync.md` has the table.
@Suite("A plan")
struct PlannerTests {
    @Test func `is to do nothing where all three agree`() {
        #expect(Planner.plan(.file()) == .none)
        #expect(Planner.plan(.file(kind: .directory)) == .none)
    }

    /// Goal: `chmod` and `touch` of the mount point do not pass for its removal.
    @Test func `leaves the root alone, which has no name on either side`() {
        let root = SyncState(
            inode: .root, kind: .directory, local: nil, synced: nil, isParentSynced: true)
        #expect(Planner.plan(root) == .none)
    }

    @Test func `creates what the remote has never had, after its parent`() {
        var state = SyncState.file()
        state.synced = nil
        #expect(Planner.plan(state) == .upload(base: .absent, replaced: nil))
        state.isParentSynced = false
        #expect(Planner.plan(state) == .wait(.parent))

        var directory = SyncState.file(kind: .directory)
        directory.synced = nil
        #expect(Planner.plan(directory) == .createDirectory)
        var link = SyncState.file(kind: .symlink)
        link.synced = nil
        #expect(Planner.plan(link) == .createSymlink)
    }

    @Test func `uploads a new generation over the version that was agreed on`() {
        var state = SyncState.file()
        state.local?.generation = 2
        #expect(Planner.plan(state) == .upload(base: .version(.agreed), replaced: nil))
    }

    @Test func `waits while somebody writes`() {
        var state = SyncState.file()
        state.local?.isWriting = true
        #expect(Planner.plan(state) == .waitForWriter)
        state.synced = nil
        #expect(Planner.plan(state) == .waitForWriter)
    }

    @Test func `sends attributes alone where only they changed`() {
        var state = SyncState.file()
        state.local?.mode = 0o600
        #expect(Planner.plan(state) == .setAttributes)
        state = .file()
        state.local?.modified = Timestamp(seconds: 99)
        #expect(Planner.plan(state) == .setAttributes)
    }

    @Test func `sends a directory's time that somebody set`() {
        var state = SyncState.file(kind: .directory)
        state.local?.modified = Timestamp(seconds: 9)
        state.local?.generation += 1
        #expect(Planner.plan(state) == .setAttributes)
    }

    @Test func `leaves a directory's time to the directory's names`() {
        var state = SyncState.file(kind: .directory)
        state.local?.modified = Timestamp(seconds: 99)
        #expect(Planner.plan(state) == .none)
    }

    @Test func `moves before it uploads`() {
        var state = SyncState.file()
        state.local?.name = .other
        state.local?.generation = 2
        #expect(Planner.plan(state) == .move(replaced: nil))
        state.isParentSynced = false
        #expect(Planner.plan(state) == .wait(.parent))
    }

    /// An editor writes a temporary file and renames it over the old one.
    @Test func `replaces an unlinked file in one step`() {
        let old = Occupant(
            inode: .other, kind: .file, etag: .agreed, isUnlinked: true, waitsForUs: false)
        var fresh = SyncState.file()
        fresh.synced = nil
        fresh.occupant = old
        #expect(Planner.plan(fresh) == .upload(base: .version(.agreed), replaced: .other))

        var uploaded = SyncState.file()
        uploaded.local?.name = .other
        uploaded.occupant = old
        #expect(Planner.plan(uploaded) == .move(replaced: old))

        var replaced = SyncState.file()
        replaced.local = nil
        replaced.successor = .other
        #expect(Planner.plan(replaced) == .wait(.other))
    }

    @Test func `waits for whoever holds the name, and breaks a circle by moving aside`() {
        var state = SyncState.file()
        state.local?.name = .other
        state.occupant = Occupant(
            inode: .other, kind: .file, etag: .agreed, isUnlinked: false, waitsForUs: false)
        #expect(Planner.plan(state) == .wait(.other))
        state.occupant?.waitsForUs = true
        #expect(Planner.plan(state) == .moveToTemporaryName)
    }

    @Test func `a directory does not replace a file on the remote`() {
        var state = SyncState.file(kind: .directory)
        state.synced = nil
        state.occupant = Occupant(
            inode: .other, kind: .file, etag: .agreed, isUnlinked: true, waitsForUs: false)
        #expect(Planner.plan(state) == .wait(.other))
    }

    @Test func `deletes last: children first, and not what is about to be replaced`() {
        var state = SyncState.file(kind: .directory)
        state.local = nil
        #expect(Planner.plan(state) == .delete)
        state.remoteChild = .other
        #expect(Planner.plan(state) == .wait(.other))
    }

    @Test func `forgets what neither side has`() {
        var state = SyncState.file()
        state.local = nil
        state.synced = nil
        #expect(Planner.plan(state) == .forget)
        state = .file()
        state.local = nil
        state.remote = .gone
        #expect(Planner.plan(state) == .forget)
    }

    @Test func `follows the remote where nothing changed here`() {
        var state = SyncState.file()
        state.remote = .gone
        #expect(Planner.plan(state) == .removeLocal)
        state.remote = .object(.changed)
        #expect(Planner.plan(state) == .acceptRemote(.changed))
    }

    @Test func `an edit wins over a deletion, on either side`() {
        var editedHere = SyncState.file()
        editedHere.local?.generation = 2
        editedHere.remote = .gone
        #expect(Planner.plan(editedHere) == .createAnew)

        var deletedHere = SyncState.file()
        deletedHere.local = nil
        deletedHere.remote = .object(.changed)
        #expect(Planner.plan(deletedHere) == .acceptRemote(.changed))
    }

    @Test func `a file that moved here and went there comes back only with its bytes`() {
        var state = SyncState.file()
        state.local?.name = .other
        state.remote = .gone
        #expect(Planner.plan(state) == .createAnew)
        state.local?.isWhole = false
        #expect(Planner.plan(state) == .removeLocal)
    }

    @Test func `two edits are a conflict`() {
        var state = SyncState.file()
        state.local?.generation = 2
        state.remote = .object(.changed)
        #expect(Planner.plan(state) == .conflict(.changed))

        var created = SyncState.file()
        created.synced = nil
        created.remote = .object(.changed)
        #expect(Planner.plan(created) == .conflict(.changed))
    }

    @Test func `whoever waits in a circle and is in another's place steps aside`() {
        var state = SyncState.file(kind: .directory)
        state.local?.name = .other
        state.isParentSynced = false
        state.isPlaceWanted = true
        #expect(Planner.plan(state) == .moveToTemporaryName)

        var removed = SyncState.file(kind: .directory)
        removed.local = nil
        removed.remoteChild = .other
        removed.isPlaceWanted = true
        #expect(Planner.plan(removed) == .moveToTemporaryName)
    }

    @Test func `nothing is done in a place that another inode may have got`() {
        var state = SyncState.file()
        state.local = nil
        state.claimant = .other
        #expect(Planner.plan(state) == .wait(.other))
    }

    @Test func `a directory does not move below itself on the remote`() {
        var state = SyncState.file(kind: .directory)
        state.local?.name = .other
        state.isParentBelow = true
        #expect(Planner.plan(state) == .wait(.parent))
        // The parent may wait for a new directory of the name that this one has there.
        state.isPlaceWanted = true
        #expect(Planner.plan(state) == .moveToTemporaryName)
    }

    @Test func `an object of another kind in the place of a clean one is taken`() {
        var directory = RemoteObject.changed
        directory.kind = .directory
        var state = SyncState.file()
        state.remote = .object(directory)
        #expect(Planner.plan(state) == .acceptRemote(directory))
    }

    @Test func `a conflict is not settled under a writer`() {
        var state = SyncState.file()
        state.local?.isWriting = true
        state.remote = .object(.changed)
        #expect(Planner.plan(state) == .waitForWriter)
    }
}

extension SyncState {
    /// An inode on which both sides agree.
    fileprivate static func file(kind: FileKind = .file) -> SyncState {
        let time = Timestamp(seconds: 1)
        return SyncState(
            inode: InodeNumber(rawValue: 7), kind: kind,
            local: LocalState(
                parent: .parent, name: .agreed, mode: 0o644,
                extendedAttributes: ExtendedAttributes(), modified: time, generation: 1,
                isWriting: false, isWhole: true),
            synced: SyncedRecord(
                parent: .parent, name: .agreed, etag: kind == .file ? .agreed : nil, size: 5,
                mode: 0o644, modified: time, generation: 1,
                extendedAttributes: ExtendedAttributes()),
            remote: nil, intent: nil, isParentSynced: true, occupant: nil, successor: nil,
            remoteChild: nil)
    }
}

extension InodeNumber {
    fileprivate static let parent = InodeNumber(rawValue: 2)
    fileprivate static let other = InodeNumber(rawValue: 8)
}

extension FileName {
    fileprivate static let agreed = FileName(stored: Array("agreed".utf8))
    fileprivate static let other = FileName(stored: Array("other".utf8))
}

extension ETag {
    fileprivate static let agreed = ETag("1")
}

extension RemoteObject {
    fileprivate static let changed = RemoteObject(
        name: .agreed, kind: .file, etag: ETag("2"), size: 9, modified: Timestamp(seconds: 2),
        mode: nil)
}
