import GRDB
import Logging
import Synchronization
import Testing

@testable import Engine

@Suite("The agenda")
struct AgendaTests {
    private final class Hands: Clock {
        private let time = Mutex(Duration.zero)

        let wallTime = Timestamp(seconds: 1)
        var uptime: Duration {
            get { time.withLock { $0 } }
            set { time.withLock { $0 = newValue } }
        }

        func sleep(until instant: Duration) async throws {}
    }

    private let clock = Hands()
    private let database: DatabaseQueue
    private let store: Store
    private let agenda: Agenda
    private let first = InodeNumber(rawValue: 1)
    private let second = InodeNumber(rawValue: 2)
    private let third = InodeNumber(rawValue: 3)
    private let fourth = InodeNumber(rawValue: 4)

    init() throws {
        database = try DatabaseQueue()
        store = try Store(database)
        try database.write { try Self.insertInodes(1...2_600, $0) }
        agenda = try Self.agenda(store, clock)
    }

    private static func insertInodes(_ numbers: ClosedRange<Int>, _ database: Database) throws {
        try database.execute(
            sql: """
                WITH RECURSIVE numbers (id) AS (
                    SELECT ?1 UNION ALL SELECT id + 1 FROM numbers WHERE id < ?2)
                INSERT INTO inodes (id, kind, mode, uid, gid, links, size, modified, changed,
                    presence, generation, writing, listed, accessed)
                SELECT id, 0, 420, 0, 0, 1, 0, 0, 0, 2, 1, 0, 0, 0 FROM numbers
                """, arguments: [numbers.lowerBound, numbers.upperBound])
    }

    private static func agenda(
        _ store: Store, _ clock: Hands, runningMax: Int = 2
    ) throws -> Agenda {
        let agenda = Agenda(
            store: store, clock: clock, logger: Logger(label: "test"), runningMax: runningMax)
        try agenda.recover()
        return agenda
    }

    private func change(_ inodes: InodeNumber..., after delay: Duration = .zero) throws {
        try store.write { database in
            for inode in inodes {
                try database.markPending(
                    inode, at: clock.wallTime, due: agenda.due(after: delay))
            }
        }
    }

    private func complete(_ inode: InodeNumber) throws {
        try store.write { try $0.removePending(inode) }
        agenda.finish(inode, .done)
    }

    /// Goal: a sync learns at once that everything is on the remote, not of each operation before.
    @Test func `shows when the last operation under way has ended`() throws {
        try change(first, second)
        #expect(agenda.next() == .start(first))
        #expect(agenda.next() == .start(second))
        try complete(first)
        #expect(agenda.idle.notifications == 0)
        try complete(second)
        #expect(agenda.idle.notifications == 1)
    }

    private func isChanging(_ body: () throws -> Void) throws -> Bool {
        let before = try database.read(\.totalChangesCount)
        try body()
        return try database.read(\.totalChangesCount) != before
    }

    private func dueCount(_ condition: String) throws -> Int? {
        let now = agenda.due().nanoseconds
        return try store.read { database in
            try database.value(
                """
                SELECT count(*) FROM pending
                WHERE blocked_by IS NULL AND due <= ? AND \(condition)
                """, [now])
        }
    }

    private func isWoken(_ body: () throws -> Void) rethrows -> Bool {
        let before = agenda.signal.notifications
        try body()
        return agenda.signal.notifications > before
    }

    @Test func `is woken by a change that is due before its next look, and by no later one`() throws
    {
        try change(first, after: .seconds(5))
        #expect(agenda.next() == .wait(until: .seconds(5)))
        #expect(try !isWoken { try changeAndNotify(second, after: .seconds(6)) })
        #expect(try isWoken { try changeAndNotify(third, after: .seconds(4)) })
        #expect(agenda.next() == .wait(until: .seconds(4)))
        #expect(isWoken { agenda.notify() })
    }

    @Test func `only a program's change settles, and only until something is due`() throws {
        try change(first, after: .seconds(5))
        #expect(agenda.next() == .wait(until: .seconds(5)))
        #expect(!agenda.isChangeSettling)
        try changeAndNotify(second, after: .seconds(6))
        #expect(agenda.next() == .wait(until: .seconds(5)))
        #expect(agenda.isChangeSettling)
        clock.uptime = .seconds(6)
        #expect(agenda.next() == .start(first))
        #expect(agenda.next() == .start(second))
        #expect(!agenda.isChangeSettling)
        _ = agenda.next()
        #expect(!agenda.isChangeSettling, "all slots are in use")
    }

    @Test func `is woken by any change if nothing was pending`() throws {
        #expect(agenda.next() == .wait(until: nil))
        #expect(try isWoken { try changeAndNotify(first, after: .seconds(30)) })
    }

    @Test func `is woken by the end of an operation if all slots are in use`() throws {
        try change(first, second, third)
        for _ in 0..<2 { _ = agenda.next() }
        _ = agenda.next()
        #expect(try !isWoken { try changeAndNotify(fourth, after: .zero) })
        #expect(try isWoken { try complete(first) })
        #expect(agenda.next() == .start(third))
    }

    private func changeAndNotify(_ inode: InodeNumber, after delay: Duration) throws {
        try change(inode, after: delay)
        agenda.notify(due: agenda.due(after: delay))
    }

    @Test func `hastens those below a directory that are not due, without their failures`() throws {
        let held = InodeNumber(rawValue: 5)
        try database.write {
            try $0.execute(
                sql: """
                    UPDATE inodes SET kind = 1 WHERE id = 2600;
                    INSERT INTO dirents (parent, name, inode)
                    SELECT iif(id < 2500, 2600, 1), CAST(id AS BLOB), id FROM inodes WHERE id > 1
                    """)
        }
        // Several pages of those to be hastened, and of others.
        for number in 2..<2_600 {
            try change(InodeNumber(rawValue: Int64(number)), after: .seconds(number))
        }
        try change(second, third, after: .zero)
        try store.write { database in
            try database.setFailure(
                SyncFailure(kind: .denied, what: "x", why: "", remedy: nil, isFinal: true),
                attempts: 3, of: second)
            try database.setFailure(
                SyncFailure(kind: .unreachable, what: "x", why: "", remedy: nil, isFinal: false),
                attempts: 3, of: third)
            try database.setFailure(.awaitsConfirmation, attempts: 0, of: held)
            try database.run("UPDATE pending SET due = NULL WHERE inode = ?", [held])
            try database.run("UPDATE pending SET blocked_by = 3 WHERE inode = ?", [fourth])
        }
        try agenda.hasten(below: InodeNumber(rawValue: 2_600))
        #expect(try dueCount("inode < 2500") == 2_497)
        #expect(try dueCount("inode >= 2500") == 0)
        let records = try [held, second, third].map { inode in
            try #require(try store.read { try $0.pending(inode) })
        }
        #expect(records.map(\.failure) == [.awaitsConfirmation, nil, nil])
        #expect(records[1].attempts == 3)
        #expect(try !isChanging { try agenda.hasten(below: InodeNumber(rawValue: 2_600)) })
    }

    @Test func `starts due inodes, the earliest first, up to its limit`() throws {
        try change(second, after: .seconds(2))
        try change(first, after: .seconds(1))
        try change(third, after: .seconds(3))
        #expect(agenda.next() == .wait(until: .seconds(1)))
        clock.uptime = .seconds(5)
        #expect(agenda.next() == .start(first))
        #expect(agenda.next() == .start(second))
        #expect(agenda.next() == .wait(until: .seconds(15)))
        try complete(first)
        #expect(agenda.next() == .start(third))
    }

    @Test func `starts nothing while it is paused`() throws {
        try change(first)
        agenda.setPaused(true)
        #expect(agenda.next() == .wait(until: nil))
        agenda.setPaused(false)
        #expect(agenda.next() == .start(first))
    }

    @Test func `an inode done with another one is not started, and its waiters are`() throws {
        try change(first, second)
        #expect(agenda.next() == .start(first))
        agenda.finish(first, .blocked(by: second))
        try store.write { try $0.removePending(second) }
        #expect(agenda.next() == .start(first))
        try complete(first)
        #expect(agenda.next() == .wait(until: nil))
    }

    @Test func `an inode without progress leaves its slot to others, up to a limit`() throws {
        let inodes = (1...80).map(InodeNumber.init(rawValue:))
        for inode in inodes { try change(inode) }
        #expect(agenda.next() == .start(inodes[0]))
        #expect(agenda.next() == .start(inodes[1]))
        #expect(agenda.next() == .wait(until: .seconds(10)))
        clock.uptime = .seconds(4)
        agenda.noteMove(of: inodes[0])
        clock.uptime = .seconds(10)
        #expect(agenda.next() == .start(inodes[2]))
        #expect(agenda.next() == .wait(until: .seconds(14)))
        clock.uptime = .seconds(14)
        #expect(agenda.next() == .start(inodes[3]))
        var started = 4
        func start(from first: Int, through last: Int) {
            for time in first...last {
                clock.uptime = .seconds(time * 10)
                while case .start = agenda.next() { started += 1 }
            }
        }
        start(from: 2, through: 6)
        #expect(started < 2 + SyncSlots.standingMax)
        // However long there is no progress.
        start(from: 7, through: 200)
        #expect(started == 2 + SyncSlots.silentMax)
        #expect(agenda.next() == .wait(until: nil))
        try complete(inodes[0])
        #expect(agenda.next() == .start(inodes[started]))
    }

    @Test(arguments: [Agenda.Outcome.again(after: .seconds(60)), .held, .blocked(by: .root)])
    func `a change during its run makes an inode due again`(outcome: Agenda.Outcome) throws {
        try change(second)
        #expect(agenda.next() == .start(second))
        try change(second, after: .seconds(1))
        agenda.finish(second, outcome)
        #expect(agenda.next() == .wait(until: .seconds(1)))
        clock.uptime = .seconds(1)
        #expect(agenda.next() == .start(second))
        // Even at the last moment up to which changes may postpone it.
        for time in 31...40 {
            clock.uptime = .seconds(time)
            try change(second, after: .seconds(1))
        }
        agenda.finish(second, outcome)
        #expect(agenda.next() == .start(second))
        try change(second)
        agenda.finish(second, outcome)
        clock.uptime += .nanoseconds(1)
        #expect(agenda.next() == .start(second))
    }

    @Test func `an inode that enqueues itself in every run does not run without a pause`() throws {
        try change(first)
        clock.uptime = .seconds(100)
        var starts = 0
        while case .start = agenda.next(), starts < 10 {
            starts += 1
            try change(first, after: .seconds(1))
            agenda.finish(first, .again(after: .seconds(60)))
        }
        #expect(starts == 2)
    }

    @Test func `nothing starts by a fraction of a nanosecond too early`() throws {
        clock.uptime = .seconds(1) + Duration(secondsComponent: 0, attosecondsComponent: 7)
        try change(first)
        #expect(agenda.next() == .wait(until: .seconds(1) + .nanoseconds(1)))
    }

    @Test func `each change begins the settle time again, for 30 seconds`() throws {
        try change(first, after: .seconds(1))
        try change(first, after: .seconds(2))
        clock.uptime = .seconds(1)
        #expect(agenda.next() == .wait(until: .seconds(2)))
        for time in 2...40 {
            clock.uptime = .seconds(time)
            try change(first, after: .seconds(2))
        }
        #expect(agenda.next() == .start(first))
        #expect(try store.read { try $0.pending(first)?.due } ?? .zero < .seconds(32))
    }

    /// Goal: the files in a new directory do not wait for its last change, such as the times that `tar` sets.
    @Test func `changes of a new directory's attributes do not postpone it`() throws {
        let inodes = [first, second, third]
        try store.write { database in
            try database.execute(sql: "UPDATE inodes SET kind = 1 WHERE id IN (1, 3)")
            try database.setSynced(
                SyncedRecord(
                    parent: .root, name: #require(FileName("third")), etag: nil, size: 0, mode: 0,
                    modified: clock.wallTime, generation: 0,
                    extendedAttributes: ExtendedAttributes()),
                of: third)
            for delay in [0, 3, 2] {
                for inode in inodes {
                    let record = try database.existingInode(inode)
                    try database.markPending(
                        record, at: clock.wallTime, due: agenda.due(after: .seconds(delay)))
                }
            }
        }
        clock.uptime = .milliseconds(1)
        #expect(agenda.next() == .start(first))
        #expect(agenda.next() == .wait(until: .seconds(2)))
    }

    @Test(arguments: [Agenda.Outcome.done, .again(after: .seconds(60)), .held])
    func `waiters go on once an inode is finished, whatever its outcome`(
        outcome: Agenda.Outcome
    ) throws {
        try change(first)
        try change(second, after: .seconds(1))
        #expect(agenda.next() == .start(first))
        agenda.finish(first, .blocked(by: second))
        clock.uptime = .seconds(1)
        #expect(agenda.next() == .start(second))
        #expect(agenda.next() == .wait(until: nil))
        if outcome == .done { try complete(second) } else { agenda.finish(second, outcome) }
        #expect(agenda.next() == .start(first))
    }

    @Test(arguments: [Agenda.Outcome.again(after: .seconds(60)), .held])
    func `very many waiters go on`(outcome: Agenda.Outcome) throws {
        let waiters = (10..<2_510).map(InodeNumber.init(rawValue:))
        try change(first, after: .seconds(1))
        for inode in waiters { try change(inode) }
        for inode in waiters {
            #expect(agenda.next() == .start(inode))
            agenda.finish(inode, .blocked(by: first))
        }
        clock.uptime = .seconds(1)
        #expect(agenda.next() == .start(first))
        agenda.finish(first, outcome)
        for inode in waiters {
            #expect(agenda.next() == .start(inode))
            try complete(inode)
        }
    }

    @Test func `inodes that wait for each other are planned again after a second`() throws {
        try change(first, second)
        #expect(agenda.next() == .start(first))
        #expect(agenda.next() == .start(second))
        agenda.finish(first, .blocked(by: second))
        agenda.finish(second, .blocked(by: first))
        #expect(agenda.next() == .wait(until: .seconds(1)))
        clock.uptime = .seconds(1)
        #expect(agenda.next() == .start(first))
        agenda.finish(first, .blocked(by: third))
        #expect(try store.read { try $0.pending(second)?.due } == .seconds(2))
    }

    /// Goal: an inode that finds a place claimed by an operation that has just been completed loses
    /// no time, and none that is claimed for long makes it spin.
    @Test func `an inode blocked by one that is done is soon planned again, then less often`()
        throws
    {
        try change(first)
        var delays: [Duration] = []
        func run(_ outcome: Agenda.Outcome) throws {
            #expect(agenda.next() == .start(first))
            agenda.finish(first, outcome)
            let due = try #require(try store.read { try $0.pending(first)?.due })
            delays.append(due - clock.uptime)
            clock.uptime = due
        }
        for _ in 0..<8 { try run(.blocked(by: third)) }
        #expect(delays == [10, 20, 40, 80, 160, 320, 640, 1_000].map { .milliseconds($0) })
        try run(.again(after: .seconds(3)))
        try run(.blocked(by: third))
        #expect(delays.last == .milliseconds(10))
    }

    @Test func `a failure is retried after its delay, earlier if the remote is reachable`() throws {
        let failure = SyncFailure(kind: .unreachable, what: "a", why: "b", isFinal: false)
        try change(first, second)
        for inode in [first, second] {
            #expect(agenda.next() == .start(inode))
            agenda.finish(inode, .again(after: .seconds(8)))
        }
        try store.write { try $0.setFailure(failure, attempts: 1, of: second) }
        #expect(agenda.next() == .wait(until: .seconds(8)))
        agenda.hastenUnreachable()
        #expect(agenda.next() == .start(second))
        #expect(agenda.next() == .wait(until: .seconds(8)))
    }

    /// Goal: an attempt that an outage has made fail is repeated at its end, even if it fails after it.
    @Test func `a failure that is noted after the remote was found is retried at once`() throws {
        let failure = SyncFailure(kind: .unreachable, what: "a", why: "b", isFinal: false)
        try change(first)
        #expect(agenda.next() == .start(first))
        agenda.hastenUnreachable()
        try store.write { try $0.setFailure(failure, attempts: 1, of: first) }
        agenda.finish(first, .again(after: .seconds(8)))
        #expect(agenda.next() == .start(first))
        agenda.finish(first, .again(after: .seconds(8)))
        #expect(agenda.next() == .wait(until: .seconds(8)))
    }

    @Test func `all that an outage has made fail are due at its end`() throws {
        let failure = SyncFailure(kind: .unreachable, what: "a", why: "b", isFinal: false)
        let others = 1_000
        let count = Agenda.hastenedMax + others
        try database.write { try Self.insertInodes(2_601...count, $0) }
        try store.write { database in
            for number in 1...count {
                let inode = InodeNumber(rawValue: Int64(number))
                let due = agenda.due(after: .seconds(300))
                try database.markPending(inode, at: clock.wallTime, due: due)
                try database.setFailure(failure, attempts: 1, of: inode)
            }
        }
        let later = {
            try database.read {
                try Int.fetchOne(
                    $0, sql: "SELECT count(*) FROM pending WHERE due > ?",
                    arguments: [agenda.due().nanoseconds])
            }
        }
        #expect(agenda.next() == .wait(until: .seconds(300)))
        agenda.hastenUnreachable()
        #expect(try later() == others)
        let next = agenda.next()
        guard case .start = next else {
            Issue.record("\(next)")
            return
        }
        #expect(try later() == 0)
    }

    @Test func `a held inode waits for a change, also after a restart`() throws {
        try change(first, second)
        #expect(agenda.next() == .start(first))
        agenda.finish(first, .held)
        #expect(agenda.next() == .start(second))
        agenda.finish(second, .blocked(by: first))
        #expect(agenda.next() == .wait(until: nil))
        try store.write { try $0.noteGone([third], isHeld: true, at: clock.wallTime, due: .zero) }
        let agenda = try Self.agenda(store, clock, runningMax: 8)
        // Of these, only the third one is held according to the database.
        #expect([agenda.next(), agenda.next()] == [.start(first), .start(second)])
        #expect(agenda.next() == .wait(until: nil))
        try store.write { database in
            try database.noteConfirmation()
            _ = try database.releaseConfirmed(
                after: InodeNumber(rawValue: 0), limit: 10, due: agenda.due())
        }
        #expect(agenda.next() == .start(third))
    }

    @Test func `at a start everything is due in the old order, whatever the clock`() throws {
        clock.uptime = .seconds(1_000)
        try change(first, after: .seconds(500))
        try change(second, after: .seconds(300))
        clock.uptime = .zero
        let agenda = try Self.agenda(store, clock, runningMax: 8)
        #expect([agenda.next(), agenda.next()] == [.start(second), .start(first)])
        try change(third)
        try store.write {
            try $0.markPending(
                fourth, at: clock.wallTime, due: agenda.due(after: .seconds(1)))
        }
        #expect(agenda.next() == .start(third))
        #expect(agenda.next() == .wait(until: .seconds(1)))
    }

    @Test func `a completed inode costs no transaction besides its own`() throws {
        try change(first)
        #expect(agenda.next() == .start(first))
        try store.write { try $0.removePending(first) }
        #expect(try !isChanging { agenda.finish(first, .done) })
        #expect(try !isChanging { _ = agenda.next() })
    }

    @Test func `finds the next of very many without reading them`() throws {
        let plan = try database.read {
            try String.fetchAll(
                $0,
                sql: """
                    EXPLAIN QUERY PLAN SELECT inode, due FROM pending
                    WHERE blocked_by IS NULL AND due NOT NULL ORDER BY due LIMIT 1
                    """, adapter: SuffixRowAdapter(fromIndex: 3))
        }
        #expect(plan.count == 1)
        #expect(plan.first?.contains("INDEX pending_by_due (due>?)") == true)
    }
}
