import GRDB
import Testing

@testable import Engine

struct CommitCountTests {
    @Test func `counts each transaction that changes something`() throws {
        let store = try Store(DatabaseQueue())
        let inode = InodeNumber.root
        try store.write {
            try $0.execute(
                sql: """
                    INSERT INTO inodes (id, kind, mode, uid, gid, links, size, modified, changed,
                        presence, generation, writing, listed, accessed)
                    VALUES (1, 1, 493, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0)
                    """)
        }
        let start = store.commitCount
        try store.read { _ = try $0.isPending(inode) }
        try store.write { _ = try $0.isPending(inode) }
        try store.write { try $0.removePending(inode) }
        #expect(store.commitCount == start)
        try store.write { try $0.markPending(inode, at: Timestamp(nanoseconds: 1)) }
        let changed = store.commitCount
        #expect(changed != start)
        try store.write { _ in #expect(store.commitCount == changed) }
    }
}
