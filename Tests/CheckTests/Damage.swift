import Foundation

@testable import Engine

/// A kind of damage, and the expected result of a check.
struct Damage: Sendable, CustomStringConvertible {
    var description: String
    var sql = ""
    /// The damage to files.
    var files: @Sendable (StateFixture) throws -> Void = { _ in }
    /// The expected finding; it may cause others.
    var kind: CheckFinding.Kind
    var outcome = CheckFinding.Outcome.repaired
    /// Paths and bytes that are there afterwards.
    var tree: [String: String] = [:]
    /// The files in `lost+found` afterwards.
    var lost: [String: String] = [:]
    /// Whether later checks report it again, as the user has to act.
    var stays = false

    private static let dirtyTree = ["/docs/dirty.txt": StateFixture.dirtyBytes]

    // MARK: Names and inodes

    static let names: [Damage] = [
        Damage(
            description: "a name of nothing",
            sql: "INSERT INTO dirents (parent, name, inode) VALUES (2, x'78', 999)",
            kind: .name, outcome: .lost, tree: dirtyTree),
        Damage(
            description: "a clean inode is gone", sql: "DELETE FROM inodes WHERE id = 3",
            kind: .name, tree: dirtyTree, lost: ["3-docs_clean.txt": "clean"]),
        Damage(
            description: "a new inode is gone", sql: "DELETE FROM inodes WHERE id = 4",
            kind: .name, tree: dirtyTree),
        Damage(
            description: "the name of a new file is gone",
            sql: "DELETE FROM dirents WHERE inode = 4", kind: .orphan,
            lost: ["4-content_4_4": StateFixture.dirtyBytes]),
        Damage(
            description: "the name of a clean file is gone",
            sql: "DELETE FROM dirents WHERE inode = 3", kind: .orphan,
            tree: ["/docs/clean.txt": "clean"]),
        Damage(
            description: "the name of a clean file is gone and taken",
            sql: """
                DELETE FROM dirents WHERE inode = 3;
                UPDATE dirents SET name = x'636c65616e2e747874' WHERE inode = 4
                """, kind: .orphan, tree: ["/docs/clean.txt": StateFixture.dirtyBytes]),
        Damage(
            description: "the name of a new directory is gone",
            sql: "DELETE FROM dirents WHERE inode = 7", kind: .orphan,
            tree: ["/found-7/link": "../clean.txt"]),
        Damage(
            description: "the name of a new link is gone",
            sql: "DELETE FROM dirents WHERE inode = 8", kind: .orphan,
            lost: ["8-link.symlink": "../clean.txt"]),
        Damage(
            description: "a name in a file", sql: "UPDATE dirents SET parent = 3 WHERE inode = 4",
            kind: .name, lost: ["4-docs_clean.txt_dirty.txt": StateFixture.dirtyBytes]),
        Damage(
            description: "a name in a directory that is not there",
            sql: "UPDATE dirents SET parent = 998 WHERE inode = 4", kind: .name,
            tree: ["/found-998/dirty.txt": StateFixture.dirtyBytes]),
        Damage(
            description: "a directory's inode is gone", sql: "DELETE FROM inodes WHERE id = 2",
            kind: .name, tree: dirtyTree),
        Damage(
            description: "a directory counts as removed",
            sql: "UPDATE inodes SET links = 0 WHERE id = 7; DELETE FROM dirents WHERE inode = 7",
            kind: .name, tree: ["/found-7/link": "../clean.txt"]),
        Damage(
            description: "a second name of a directory",
            sql: "INSERT INTO dirents (parent, name, inode) VALUES (1, x'78', 7)", kind: .name,
            tree: ["/docs/sub/link": "../clean.txt"]),
        Damage(
            description: "a circle of directories",
            sql: "UPDATE dirents SET parent = 7 WHERE inode = 2", kind: .circle, tree: dirtyTree),
        Damage(
            description: "a circle of new directories",
            sql: "UPDATE dirents SET parent = 7 WHERE inode = 7", kind: .circle,
            tree: ["/found-7/link": "../clean.txt"]),
        Damage(
            description: "a link count", sql: "UPDATE inodes SET links = 7 WHERE id = 3",
            kind: .links),
        Damage(
            description: "a link count of none", sql: "UPDATE inodes SET links = 0 WHERE id = 4",
            kind: .links, tree: dirtyTree),
        Damage(
            description: "a directory's link count",
            sql: "UPDATE inodes SET links = 9 WHERE id = 1", kind: .links),
        Damage(
            description: "the root is gone", sql: "DELETE FROM inodes WHERE id = 1", kind: .root,
            tree: dirtyTree),
        Damage(
            description: "the root has a name",
            sql: "INSERT INTO dirents (parent, name, inode) VALUES (7, x'78', 1)", kind: .root,
            tree: dirtyTree),
        Damage(
            description: "a presence that cannot be",
            sql: "UPDATE inodes SET presence = 9 WHERE id = 4", kind: .value, tree: dirtyTree),
        Damage(
            description: "a kind that cannot be", sql: "UPDATE inodes SET kind = 'x' WHERE id = 2",
            kind: .value, tree: dirtyTree),
        Damage(
            description: "a name with a slash",
            sql: "UPDATE dirents SET name = x'612f62' WHERE inode = 3", kind: .name,
            tree: ["/docs/clean.txt": "clean"]),
    ]

    // MARK: The remote's side

    static let sync: [Damage] = [
        Damage(
            description: "an agreement about nothing",
            sql:
                "INSERT INTO synced VALUES (997, 1, x'7a', 'e', 1, 420, 0, 1, x'', NULL, NULL, NULL)",
            kind: .synced),
        Damage(
            description: "a directory on the remote that is not known",
            sql: "UPDATE synced SET parent = 996 WHERE inode = 3", kind: .synced,
            tree: ["/docs/clean.txt": "clean"]),
        Damage(
            description: "an agreement that makes no sense",
            sql: "UPDATE synced SET name = x'' WHERE inode = 3", kind: .synced,
            tree: ["/docs/clean.txt": "clean"]),
        Damage(
            description: "a former path that makes no sense",
            sql: "UPDATE synced SET path_before_move = 7 WHERE inode = 3", kind: .synced,
            tree: ["/docs/clean.txt": "clean"]),
        Damage(
            description: "a circle on the remote",
            sql: "UPDATE synced SET parent = 2 WHERE inode = 2", kind: .synced, tree: dirtyTree),
        Damage(
            description: "an observation of nothing",
            sql: "INSERT INTO remote (inode, gone, kind, size, modified) VALUES (995, 1, 0, 0, 0)",
            kind: .remote),
        Damage(
            description: "nothing waits",
            sql: "INSERT INTO pending (inode, since, attempts) VALUES (995, 1, 0)", kind: .pending),
        Damage(
            description: "an attempt of nothing",
            sql:
                "INSERT INTO intents VALUES (995, 1, x'7a', 0, 0, 0, 0, NULL, NULL, x'', NULL, NULL)",
            kind: .intent),
        Damage(
            description: "a conflict of nothing",
            sql: "INSERT INTO conflicts VALUES (995, x'7a', 0)", kind: .conflict),
        Damage(
            description: "nothing is pinned", sql: "INSERT INTO pins VALUES (995)", kind: .value),
        Damage(
            description: "nothing is on its way to the trash",
            sql: "INSERT INTO discarded VALUES (995, x'7a', 0)", kind: .content),
        Damage(
            description: "the way to the trash makes no sense",
            sql: "INSERT INTO discarded VALUES (3, x'2f', 0)", kind: .content,
            tree: ["/docs/clean.txt": "clean"]),
        Damage(
            description: "a file in the trash had no name",
            sql: "INSERT INTO trash VALUES (1, 995, x'', 0, 0, 0, 0, 0, 0, x'', NULL)",
            kind: .content),
        Damage(
            description: "a new file that does not wait",
            sql: "DELETE FROM pending WHERE inode = 4", kind: .pending, tree: dirtyTree),
        Damage(
            description: "a removal that does not wait",
            sql: "UPDATE inodes SET links = 0 WHERE id = 5; DELETE FROM dirents WHERE inode = 5",
            kind: .pending),
        Damage(
            description: "extended attributes that do not wait",
            sql: "INSERT INTO xattrs VALUES (3, x'06757365722e610100000031')", kind: .pending),
        Damage(
            description: "extended attributes of nothing",
            sql: "INSERT INTO xattrs VALUES (995, x'06757365722e610100000031')", kind: .value),
        Damage(
            description: "extended attributes that make no sense",
            sql: "INSERT INTO xattrs VALUES (3, x'ff')", kind: .value,
            tree: ["/docs/clean.txt": "clean"]),
        Damage(
            description: "extended attributes of a new file that make no sense",
            sql: "INSERT INTO xattrs VALUES (4, x'ff')", kind: .value, outcome: .lost,
            tree: dirtyTree),
        Damage(
            description: "an agreement on extended attributes that makes no sense",
            sql: "UPDATE synced SET xattrs = x'ff' WHERE inode = 3", kind: .synced,
            tree: ["/docs/clean.txt": "clean"]),
        Damage(
            description: "an observation that does not wait",
            sql: "INSERT INTO remote (inode, gone, kind, size, modified) VALUES (5, 1, 0, 0, 0)",
            kind: .pending),
    ]

    // MARK: Contents

    private static func remove(_ inode: Int64) -> @Sendable (StateFixture) throws -> Void {
        { try FileManager.default.removeItem(atPath: $0.content(of: inode)) }
    }

    private static func write(
        _ text: String, to inode: Int64
    ) -> @Sendable (StateFixture) throws -> Void {
        { try Data(text.utf8).write(to: URL(filePath: $0.content(of: inode))) }
    }

    static let contents: [Damage] = [
        Damage(
            description: "extents of nothing", sql: "INSERT INTO extents VALUES (995, 0, 1)",
            kind: .extents),
        Damage(
            description: "extents of a whole file", sql: "INSERT INTO extents VALUES (3, 0, 1)",
            kind: .extents, tree: ["/docs/clean.txt": "clean"]),
        Damage(
            description: "overlapping extents", sql: "INSERT INTO extents VALUES (6, 5, 20)",
            kind: .extents),
        Damage(
            description: "an extent beyond the end",
            sql: "INSERT INTO extents VALUES (6, 90, 200)", kind: .extents),
        Damage(
            description: "an extent of less than nothing",
            sql: "INSERT INTO extents VALUES (6, 90, 80)", kind: .extents),
        Damage(
            description: "a bad extent of a changed file",
            sql:
                "INSERT INTO extents VALUES (6, 90, 200); UPDATE inodes SET generation = 2 WHERE id = 6",
            kind: .extents, lost: ["6-part.bin": String(repeating: "p", count: 100)]),
        Damage(
            description: "a note of bytes of nothing",
            sql: "INSERT INTO unsynced (inode, state, fsynced) VALUES (995, 0, 0)", kind: .content),
        Damage(
            description: "a note of bytes of a directory",
            sql: "INSERT INTO unsynced (inode, state, fsynced) VALUES (2, 2, 1)", kind: .content,
            tree: dirtyTree),
        Damage(
            description: "a note of bytes that makes no sense",
            sql: "REPLACE INTO unsynced (inode, state, fsynced) VALUES (3, 9, 0), (4, 'x', 0)",
            kind: .content,
            tree: ["/docs/clean.txt": "clean", "/docs/dirty.txt": StateFixture.dirtyBytes]),
        Damage(
            description: "the bytes of a clean file are gone", files: remove(3), kind: .content),
        Damage(
            description: "the bytes of a clean file are fewer", files: write("cl", to: 3),
            kind: .content, lost: ["3-docs_clean.txt": "cl"]),
        Damage(
            description: "the bytes of a clean file are more", files: write("clean more", to: 3),
            kind: .content, lost: ["3-docs_clean.txt": "clean more"]),
        Damage(
            description: "the bytes of a new file are gone", files: remove(4), kind: .content,
            outcome: .lost, stays: true),
        Damage(
            description: "the bytes of a new file are fewer", files: write("dir", to: 4),
            kind: .content, outcome: .lost, lost: ["4-docs_dirty.txt": "dir"], stays: true),
        Damage(
            description: "the bytes of a new file are more",
            files: write("dirty bytes, more", to: 4),
            kind: .content, tree: ["/docs/dirty.txt": "dirty bytes, more"]),
        Damage(
            description: "the bytes of an edited file are gone",
            sql: "UPDATE inodes SET generation = 2 WHERE id = 3", files: remove(3), kind: .content,
            outcome: .lost, stays: true),
        Damage(
            description: "the bytes of a partial file are gone", files: remove(6), kind: .content),
        Damage(
            description: "the bytes of a partial file are fewer", files: write("ppp", to: 6),
            kind: .content, lost: ["6-part.bin": "ppp"]),
        Damage(
            description: "the bytes of an edited partial file are gone",
            sql: "UPDATE inodes SET generation = 2 WHERE id = 6", files: remove(6),
            kind: .content, outcome: .lost, stays: true),
        Damage(
            description: "a new file counts as remote",
            sql: "UPDATE inodes SET presence = 0 WHERE id = 4", kind: .content, tree: dirtyTree),
        Damage(
            description: "a new file counts as remote, and has its length alone",
            sql: "UPDATE inodes SET presence = 0 WHERE id = 4",
            files: write(String(repeating: "\0", count: StateFixture.dirtyBytes.count), to: 4),
            kind: .content, outcome: .lost,
            lost: [
                "4-docs_dirty.txt": String(repeating: "\0", count: StateFixture.dirtyBytes.count)
            ],
            stays: true),
        Damage(
            description: "a new file whose presence makes no sense",
            sql: "UPDATE inodes SET presence = 7 WHERE id = 4", kind: .content, tree: dirtyTree),
        Damage(
            description: "bytes of no file", files: write("stray", to: 1_007), kind: .stray,
            lost: ["1007-content_ef_1007": "stray"]),
        Damage(
            description: "bytes of a directory", files: write("stray", to: 2), kind: .stray,
            lost: ["2-docs": "stray"]),
        Damage(
            description: "a file among the contents that is none",
            files: { try Data("odd".utf8).write(to: URL(filePath: "\($0.path)/content/odd")) },
            kind: .stray, lost: ["content_odd": "odd"]),
        Damage(
            description: "a file among the clones of uploads that is none",
            files: { try $0.put("odd", at: "frozen/4-odd") }, kind: .stray,
            lost: ["frozen_4-odd": "odd"]),
    ]
}
