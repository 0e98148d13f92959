import Engine
import Glibc
import SystemCalls

/// The watched directories of a folder, by the numbers of their watches. Has no system calls.
///
/// With each directory all those above it are watched, since only they show that it was moved or
/// removed and something else is at its key.
struct FolderWatches {
    private struct Place {
        let key: ObjectKey
        /// nil for the root.
        let parent: Int32?
        var children: [FileName: Int32] = [:]
        var isFollowed = false
    }

    private var places: [Int32: Place] = [:]
    private var watches: [ObjectKey: Int32] = [:]

    /// Changes of names, and of what they stand for.
    static let followedFlags =
        placeFlags | UInt32(IN_ATTRIB) | UInt32(IN_MODIFY) | UInt32(IN_CLOSE_WRITE)
        | UInt32(IN_CREATE)
    /// Those that end what is below a directory.
    static let placeFlags =
        goneFlags | removalFlags | UInt32(IN_EXCL_UNLINK) | UInt32(IN_MASK_ADD)
    private static let goneFlags = UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF)
    /// Also reported without a request: the watch has ended by itself.
    private static let endFlags = goneFlags | UInt32(IN_IGNORED) | UInt32(IN_UNMOUNT)
    private static let removalFlags =
        UInt32(IN_DELETE) | UInt32(IN_MOVED_FROM) | UInt32(IN_MOVED_TO)

    var count: Int { places.count }

    func isFollowed(_ key: ObjectKey) -> Bool {
        watches[key].flatMap { places[$0]?.isFollowed } ?? false
    }

    /// The key at which a watched directory was; nil if it is not watched.
    func key(of watch: Int32) -> ObjectKey? { places[watch]?.key }

    func watch(of key: ObjectKey) -> Int32? { watches[key] }

    /// The number of directories above a key that are watched.
    func watchedDepth(of key: ObjectKey) -> Int {
        var above = key.parent
        while let place = above, watches[place] == nil { above = place.parent }
        return above.map { $0.names.count + 1 } ?? 0
    }

    /// Records that a directory is watched. No other one has its key.
    ///
    /// - Parameter parent: The watch of the directory above; nil for the root.
    /// - Returns: false if that one has ended, or the watch is that of another key.
    mutating func add(_ watch: Int32, at key: ObjectKey, below parent: Int32?) -> Bool {
        if let place = places[watch] { return place.key == key }
        guard watches[key] == nil else { return false }
        if let parent, let name = key.names.last {
            guard places[parent] != nil else { return false }
            places[parent]?.children[name] = watch
        }
        places[watch] = Place(key: key, parent: parent)
        watches[key] = watch
        return true
    }

    /// - Returns: false if the watch has ended.
    mutating func setFollowed(_ watch: Int32) -> Bool {
        places[watch]?.isFollowed = true
        return places[watch] != nil
    }

    /// Ends the watches that only a key needs, or nothing.
    ///
    /// - Parameter isUnfollowed: Whether the directory is not followed any more.
    /// - Returns: The watches that have no use now.
    mutating func release(_ key: ObjectKey, isUnfollowed: Bool) -> [Int32] {
        var released: [Int32] = []
        var next: ObjectKey? = key
        if isUnfollowed, let watch = watches[key] { places[watch]?.isFollowed = false }
        while let key = next {
            if let watch = watches[key], let place = places[watch] {
                if place.isFollowed || !place.children.isEmpty { break }
                remove(watch, place)
                released.append(watch)
            }
            next = key.parent
        }
        return released
    }

    /// Ends the watches at and below one of them.
    ///
    /// - Returns: These, and the directories among them that were followed.
    mutating func end(_ watch: Int32) -> (watches: [Int32], followed: [ObjectKey]) {
        guard let place = places[watch] else { return ([], []) }
        var ended: (watches: [Int32], followed: [ObjectKey]) = ([watch], [])
        if place.isFollowed { ended.followed.append(place.key) }
        for child in place.children.values {
            let below = end(child)
            ended.watches += below.watches
            ended.followed += below.followed
        }
        remove(watch, place)
        return ended
    }

    /// Records an event.
    ///
    /// - Returns: The watches that have ended by it, and the directories that have changed.
    mutating func note(_ event: Inotify.Event) -> (watches: [Int32], changed: [ObjectKey]) {
        guard let place = places[event.watch] else { return ([], []) }
        if event.flags & Self.endFlags != 0 {
            let ended = end(event.watch)
            return (ended.watches, ended.followed)
        }
        guard let name = FileName(event.name), !FolderName.isReserved(name) else { return ([], []) }
        var result: (watches: [Int32], changed: [ObjectKey]) = ([], [])
        if event.flags & Self.removalFlags != 0, let child = place.children[name] {
            let ended = end(child)
            result = (ended.watches, ended.followed)
        }
        if place.isFollowed { result.changed.append(place.key) }
        return result
    }

    private mutating func remove(_ watch: Int32, _ place: Place) {
        places[watch] = nil
        watches[place.key] = nil
        if let parent = place.parent, let name = place.key.names.last {
            places[parent]?.children[name] = nil
        }
    }
}
