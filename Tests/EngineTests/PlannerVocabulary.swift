@testable import Engine

/// The words of the table in `docs/sync.md`, and what they say of a ``SyncState``.
///
/// Each axis is one question about a state, and its words are the answers. A set of words has a bit
/// for each, so that a state, which answers each question once, is a set too.
enum PlannerVocabulary {
    static let axes: [[String]] = [
        ["file", "folder", "link"],
        ["named", "unlinked"],
        ["in place", "renamed", "moved"],
        ["unedited", "edited"],
        ["untouched", "touched", "tagged"],
        ["closed", "open"],
        ["whole", "partly"],
        ["agreed", "never"],
        ["as agreed", "gone", "another version", "another kind"],
        ["nothing asked", "answer lost", "place contended"],
        ["parent there", "parent new"],
        ["parent apart", "parent below it"],
        ["place unwanted", "place wanted"],
        [
            "name free", "name held", "name held in a circle", "name of an unlinked file",
            "name of an overtaken file", "name of a file that may return",
            "name of an unlinked folder", "name respelled",
        ],
        ["no replacement", "a replacement"],
        ["no child there", "a child there"],
        ["not held", "held"],
        ["nothing held above", "held above"],
        ["not excluded", "excluded", "excluded before"],
        ["no namesake", "a namesake"],
    ]

    /// The bit of each word.
    static let bits: [String: UInt64] = Dictionary(
        uniqueKeysWithValues: axes.joined().enumerated().map { ($1, 1 << UInt64($0)) })

    static let masks: [UInt64] = axes.map { axis in axis.reduce(0) { $0 | (bits[$1] ?? 0) } }

    static func bits(_ words: [String]) -> UInt64 { words.reduce(0) { $0 | (bits[$1] ?? 0) } }

    /// What is only said of an inode that has a name here.
    static let saidOfNamed = masks[2] | masks[3] | masks[4] | masks[5] | masks[6]

    /// Every state that there can be.
    static let states: [WordedState] = {
        var sets: [UInt64] = [0]
        for axis in axes {
            sets = sets.flatMap { set in
                let partial = WordedState(set: set)
                return axis.indices.filter { $0 == 0 || partial.canBe(axis[$0]) }
                    .compactMap { bits[axis[$0]].map { set | $0 } }
            }
        }
        return sets.map { WordedState(set: $0) }
    }()
}

/// A state as the words say it.
struct WordedState: CustomStringConvertible {
    let set: UInt64

    func has(_ word: String) -> Bool { set & PlannerVocabulary.bits([word]) != 0 }

    var description: String {
        PlannerVocabulary.axes.joined().filter { has($0) }.joined(separator: ", ")
    }

    /// Whether a word can be added to those of earlier axes; the first word of an axis always can.
    fileprivate func canBe(_ word: String) -> Bool {
        switch word {
        // Nothing but files has contents that change.
        case "edited", "open", "partly": has("named") && has("file")
        case "renamed", "moved", "touched", "parent new": has("named")
        case "tagged": has("named") && !has("link")
        // What was never agreed on cannot differ from it.
        case "never": has("in place") && has("unedited") && has("untouched")
        case "place contended", "held above", "place wanted": has("agreed")
        case "parent below it": has("named") && has("agreed") && has("folder")
        case "a replacement": has("unlinked") && has("agreed") && has("file")
        case "a child there": has("unlinked") && has("agreed") && has("folder")
        case "held": has("agreed") && has("gone")
        case "name respelled": has("renamed") && has("agreed")
        case "name of a file that may return": has("edited") && !has("in place") && has("agreed")
        case "excluded", "excluded before":
            has("named") && has("never") && has("nothing asked")
        case "a namesake": canHaveNamesake
        case _ where word.hasPrefix("name "): has("named")
        default: true
        }
    }

    /// One that matters: for a name that the remote does not have yet, and for a deletion.
    private var canHaveNamesake: Bool {
        guard has("nothing asked"), has("not excluded") else { return false }
        if has("never") { return has("named") }
        guard has("as agreed") else { return false }
        if has("unlinked") { return has("no replacement") && has("no child there") }
        return has("renamed") || has("moved")
    }

    // MARK: The state itself

    static let parent = InodeNumber(rawValue: 2)
    static let otherParent = InodeNumber(rawValue: 3)
    static let inode = InodeNumber(rawValue: 7)
    static let holder = InodeNumber(rawValue: 8)
    static let successor = InodeNumber(rawValue: 9)
    static let child = InodeNumber(rawValue: 10)
    static let claimant = InodeNumber(rawValue: 11)
    static let held = InodeNumber(rawValue: 12)
    static let agreedETag = ETag("agreed")
    static let holderETag = ETag("holder")
    static let namesake = FileName(stored: Array("NEW".utf8))

    var kind: FileKind { has("file") ? .file : has("folder") ? .directory : .symlink }

    var state: SyncState {
        var state = SyncState(
            inode: Self.inode, kind: kind, local: local, synced: synced, remote: remote,
            intent: intent, isParentSynced: has("parent there"))
        if has("place contended") { state.claimant = Self.claimant }
        state.isParentBelow = has("parent below it")
        state.isPlaceWanted = has("place wanted")
        state.occupant = occupant
        if has("a replacement") { state.successor = Self.successor }
        if has("a child there") { state.remoteChild = Self.child }
        state.isHeld = has("held")
        if has("held above") { state.heldAncestor = Self.held }
        if has("a namesake") { state.namesake = Self.namesake }
        state.isRespelled = has("name respelled")
        state.isExcluded = has("excluded")
        state.wasExcluded = has("excluded before")
        return state
    }

    private var local: LocalState? {
        guard has("named") else { return nil }
        return LocalState(
            parent: has("moved") ? Self.otherParent : Self.parent,
            name: FileName(stored: Array((has("renamed") ? "new" : "old").utf8)),
            // A symbolic link has no mode of its own, only a time.
            mode: has("touched") && !has("link") ? 0o600 : 0o644,
            extendedAttributes: has("tagged") ? Self.tag : ExtendedAttributes(),
            modified: Timestamp(seconds: has("touched") && has("link") ? 3 : 1),
            generation: has("edited") ? 2 : 1, isWriting: has("open"), isWhole: has("whole"))
    }

    private static let tag: ExtendedAttributes = {
        var attributes = ExtendedAttributes()
        attributes[Array("user.tag".utf8)] = [1]
        return attributes
    }()

    private var synced: SyncedRecord? {
        guard has("agreed") else { return nil }
        return SyncedRecord(
            parent: Self.parent, name: FileName(stored: Array("old".utf8)),
            etag: has("file") ? Self.agreedETag : nil, size: 5, mode: 0o644,
            modified: Timestamp(seconds: 1), generation: 1,
            extendedAttributes: ExtendedAttributes())
    }

    private var remote: RemoteObservation? {
        if has("as agreed") { return nil }
        if has("gone") { return .gone }
        return .object(object)
    }

    var object: RemoteObject {
        let other: FileKind = kind == .file ? .directory : .file
        let kind = has("another kind") ? other : kind
        return RemoteObject(
            name: FileName(stored: Array("old".utf8)), kind: kind,
            etag: kind == .file ? ETag("changed") : nil, size: 9, modified: Timestamp(seconds: 2),
            mode: nil)
    }

    var intent: IntentRecord? {
        guard has("answer lost") else { return nil }
        return IntentRecord(
            parent: Self.parent, name: FileName(stored: Array("old".utf8)), size: 5, mode: 0o644,
            extendedAttributes: ExtendedAttributes(), modified: Timestamp(seconds: 1),
            generation: 1, replaced: nil)
    }

    var occupant: Occupant? {
        guard !has("name free"), !has("name respelled") else { return nil }
        let isFile = !has("name of an unlinked folder")
        return Occupant(
            inode: Self.holder, kind: isFile ? .file : .directory,
            etag: isFile ? Self.holderETag : nil,
            isUnlinked: ["file", "folder"].contains { has("name of an unlinked \($0)") }
                || has("name of an overtaken file") || has("name of a file that may return"),
            isOvertaken: has("name of an overtaken file"),
            mayReturn: has("name of a file that may return"),
            waitsForUs: has("name held in a circle"))
    }

    // MARK: Plans

    /// What the words of a plan mean for this state; nil for words that mean nothing.
    func operation(_ words: String) -> SyncOperation? {
        switch words {
        case "nothing": return SyncOperation.none
        case "wait for the writer": return .waitForWriter
        case "exclude": return .exclude
        case "include": return .include
        case "keep here": return .keepHere(Self.namesake)
        case "wait for a confirmation": return .waitForConfirmation
        case "wait for the parent": return local.map { .wait($0.parent) }
        case "wait for the holder": return .wait(Self.holder)
        case "wait for the replacement": return .wait(Self.successor)
        case "wait for the child": return .wait(Self.child)
        case "wait for the claimant": return .wait(Self.claimant)
        case "wait for the held folder": return .wait(Self.held)
        case "look whether it happened": return intent.map { .verify($0) }
        case "make the folder": return .createDirectory
        case "make the link": return .createSymlink
        case "upload": return .upload(base: .absent, replaced: nil)
        case "upload over the agreed version":
            return .upload(base: .version(Self.agreedETag), replaced: nil)
        case "upload over the unlinked file":
            return .upload(base: .version(Self.holderETag), replaced: Self.holder)
        case "move": return .move(replaced: nil)
        case "move over the unlinked file": return occupant.map { .move(replaced: $0) }
        case "step aside": return .moveToTemporaryName
        case "set attributes": return .setAttributes
        case "delete": return .delete
        case "forget": return .forget
        case "take the remote's": return .acceptRemote(object)
        case "remove here": return .removeLocal
        case "create again": return .createAnew
        case "conflict": return .conflict(object)
        default: return nil
        }
    }
}
