import Engine
import Foundation
import GRDB

/// Checks that whatever the kernel may have cached is invalidated if it changes while no program makes a
/// request: nothing in these caches expires.
///
/// The kernel is taken to have everything in its caches that it may have: names, absences and listings
/// of listed directories, and all attributes that are complete.
struct KernelCacheCheck {
    private typealias Name = SimulatedKernelCache.Name

    /// The values of an inode that the kernel gets.
    private struct Visible: Equatable {
        var values: [Int64]
        var isListed: Bool
        /// Whether the kernel may cache its attributes, and they are not those of an open file.
        var isCached: Bool
    }

    private struct View {
        var names: [Name: InodeNumber] = [:]
        var inodes: [InodeNumber: Visible] = [:]
        /// The name of each inode.
        var places: [InodeNumber: Name] = [:]
    }

    private let before: View

    /// - Parameter database: That of the running process.
    init(_ database: DatabaseQueue) throws {
        before = try Self.view(database)
    }

    /// Checks that the changes since ``init(_:)`` are among some invalidations.
    func check(
        _ database: DatabaseQueue, _ invalidations: SimulatedKernelCache.Invalidations
    ) throws {
        let after = try Self.view(database)
        let names = Set(before.names.keys).union(after.names.keys)
        for name in names where before.names[name] != after.names[name] {
            try check(name, after, invalidations)
        }
        for (inode, former) in before.inodes {
            guard former.isCached, before.places[inode] != nil || inode == .root,
                let now = after.inodes[inode], after.places[inode] != nil || inode == .root,
                former.values != now.values, !invalidations.attributes.contains(inode)
            else { continue }
            throw ProgramFailure(
                """
                the kernel is not told of new attributes of inode \(inode): \(now.values) instead of \
                \(former.values)
                """)
        }
    }

    private func check(
        _ name: Name, _ after: View, _ invalidations: SimulatedKernelCache.Invalidations
    ) throws {
        let isListed = before.inodes[name.parent]?.isListed == true
        let text = "\(String(decoding: name.name, as: UTF8.self)) in inode \(name.parent)"
        let change = "\(describe(before.names[name])) became \(describe(after.names[name]))"
        if before.names[name] != nil || isListed {
            guard isDropped(name, invalidations) else {
                throw ProgramFailure("the kernel is not told of the name \(text): \(change)")
            }
        }
        // Of a removed directory, no program lists anything again.
        guard isListed, after.places[name.parent] != nil || name.parent == .root else { return }
        guard invalidations.inodes.contains(name.parent) else {
            throw ProgramFailure("the kernel is not told of the listing with \(text): \(change)")
        }
    }

    private func describe(_ inode: InodeNumber?) -> String { inode.map { "\($0)" } ?? "nothing" }

    /// Whether a name is invalidated, or one above, with which the kernel drops all below.
    private func isDropped(
        _ name: Name, _ invalidations: SimulatedKernelCache.Invalidations
    ) -> Bool {
        var name = name
        while !invalidations.names.contains(name) {
            if name.parent == .root { return false }
            // With a removed directory, the kernel has dropped all names in it.
            guard let above = before.places[name.parent] else { return true }
            name = above
        }
        return true
    }

    private static func view(_ database: DatabaseQueue) throws -> View {
        try database.read { database in
            var view = View()
            for row in try Row.fetchAll(database, sql: "SELECT parent, name, inode FROM dirents") {
                let name = Name(
                    parent: InodeNumber(rawValue: row[0]), name: Array(row[1] as Data))
                let inode = InodeNumber(rawValue: row[2])
                view.names[name] = inode
                view.places[inode] = name
            }
            let inodes = """
                SELECT id, kind, mode, uid, gid, links, size, modified, changed, listed, writing,
                    has_metadata FROM inodes
                """
            for row in try Row.fetchAll(database, sql: inodes) {
                let (isWriting, hasMetadata): (Int64, Int64) = (row[10], row[11])
                view.inodes[InodeNumber(rawValue: row[0])] = Visible(
                    values: (1...8).map { row[$0] }, isListed: row[9],
                    isCached: isWriting == 0 && hasMetadata == 1)
            }
            return view
        }
    }
}
