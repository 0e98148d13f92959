import Foundation
import Synchronization
import Testing
import Transport

@testable import Control

@Suite(.timeLimit(.minutes(2)))
struct ControlServerTests {
    @Test func `about tells which daemon answers`() async throws {
        try await ServerFixture.run { server in
            let about = try await server.client.about()
            #expect(about == Sample.about)
        }
    }

    @Test func `status reports on the paths that were asked for`() async throws {
        try await ServerFixture.run { server in
            let report = try await server.client.status(below: ["a b/ü&?.jpg", "c"])
            #expect(report == Sample.report)
            #expect(server.service.calls == [.status(["a b/ü&?.jpg", "c"], limit: 1_000)])
        }
    }

    @Test func `status without a path is about the whole mount`() async throws {
        try await ServerFixture.run { server in
            _ = try await server.client.status(below: [])
            #expect(server.service.calls == [.status([""], limit: 1_000)])
        }
    }

    @Test func `slashes around a path do not matter`() async throws {
        try await ServerFixture.run { server in
            let answer = try await server.send(.get, "/v1/status?path=/a//b/")
            #expect(answer.status == 200)
            #expect(server.service.calls == [.status(["a/b"], limit: 1_000)])
        }
    }

    @Test func `a status has as many items as are asked for, within a bound`() async throws {
        try await ServerFixture.run { server in
            _ = try await server.client.status(below: [], limit: 5)
            _ = try await server.client.status(below: ["a"], limit: .max)
            #expect(
                server.service.calls
                    == [.status([""], limit: 5), .status(["a"], limit: 10_000)])
            for limit in ["-1", "many", ""] {
                #expect(try await server.send(.get, "/v1/status?limit=\(limit)").status == 400)
            }
        }
    }

    @Test func `a listing comes in pages, each from the end of the one before`() async throws {
        try await ServerFixture.run { server in
            var pages: [ListPage] = []
            try await server.client.list("") { pages.append($0) }
            #expect(pages.map(\.items.count) == [1_000, 1_000, 500])
            #expect(pages.flatMap(\.items).map(\.path) == server.service.names[""])
            try await server.client.list("empty") { pages.append($0) }
            #expect(pages.last == ListPage(items: [], next: nil))
            #expect(
                server.service.calls
                    == [nil, "n1000", "n2000"].map { .list("", after: $0, limit: 1_000) }
                    + [.list("empty", after: nil, limit: 1_000)])
            let small = try await server.send(.get, "/v1/list?path=a&after=b%2520c&limit=2")
            #expect(small.body == "{\"items\":[]}\n")
            _ = try await server.send(.get, "/v1/list?limit=1000000")
            #expect(
                server.service.calls.suffix(2)
                    == [.list("a", after: "b%20c", limit: 2), .list("", after: nil, limit: 10_000)])
            for query in ["limit=0", "limit=x", "path=a&path=b"] {
                #expect(try await server.send(.get, "/v1/list?\(query)").status == 400, "\(query)")
            }
            for query in ["after=x", "after=-1"] {
                #expect(try await server.send(.get, "/v1/trash?\(query)").status == 400, "\(query)")
            }
        }
    }

    @Test func `a path that leads upwards is refused`() async throws {
        try await ServerFixture.run { server in
            let answer = try await server.send(.get, "/v1/status?path=a/../../etc")
            #expect(answer.status == 400)
            #expect(answer.body.contains("\"what\":\"read the path"))
            #expect(server.service.calls == [])
        }
    }

    @Test func `an error of the service comes through with its kind`() async throws {
        let service = FakeMount()
        let refusal = ControlError(
            .missing, what: "find \"x\"", why: "there is none", remedy: "look again")
        service.refuse(refusal)
        try await ServerFixture.run(service) { server in
            await #expect(throws: refusal) { try await server.client.status(below: ["x"]) }
            await #expect(throws: refusal) { try await server.client.evict(["x"]) }
            await #expect(throws: refusal) {
                try await server.client.sync(below: ["x"]) { _ in }
            }
            let answer = try await server.send(.get, "/v1/status")
            #expect(answer.status == 404)
            #expect(
                answer.body
                    == #"{"error":{"remedy":"look again","what":"find \"x\"","why":"there is none"}}"#
                    + "\n")
        }
    }

    @Test(arguments: ControlError.Kind.allCases)
    func `each kind of error survives its way through HTTP`(kind: ControlError.Kind) async throws {
        let service = FakeMount()
        let refusal = ControlError(kind, what: "try", why: "no")
        service.refuse(refusal)
        try await ServerFixture.run(service) { server in
            await #expect(throws: refusal) { try await server.client.evict([""]) }
        }
    }

    @Test func `sync tells its progress and ends with the last word`() async throws {
        let service = FakeMount()
        let steps = [
            SyncProgress(
                pending: 2, bytesPending: 10, uploading: [.init(path: "a", percent: 12)]),
            SyncProgress(
                bytesSent: 10,
                failed: [.init(path: "b", error: Problem(what: "upload b", why: "full"))],
                isDone: true),
        ]
        service.tell(steps)
        try await ServerFixture.run(service) { server in
            var seen: [SyncProgress] = []
            let last = try await server.client.sync(below: ["d"]) { seen.append($0) }
            #expect(seen == steps)
            #expect(last == steps[1])
            #expect(service.calls == [.sync(["d"])])
        }
    }

    @Test func `a stream that fails half-way tells why`() async throws {
        let service = FakeMount()
        let failure = ControlError(.failed, what: "sync", why: "the disk is gone")
        service.tell([SyncProgress(pending: 1)], thenFail: failure)
        try await ServerFixture.run(service) { server in
            await #expect(throws: failure) { try await server.client.sync(below: []) { _ in } }
        }
    }

    @Test func `a stream that ends without a last word is an error`() async throws {
        let service = FakeMount()
        service.tell([SyncProgress(pending: 1)])
        try await ServerFixture.run(service) { server in
            let error = await #expect(throws: ControlError.self) {
                try await server.client.sync(below: []) { _ in }
            }
            #expect(error?.kind == .unreachable)
        }
    }

    @Test func `evict tells what it freed and what it kept`() async throws {
        let service = FakeMount()
        let report = EvictReport(
            files: 1, bytesFreed: 7, refused: [.init(path: "b", reason: "it is open")])
        service.evicting(report)
        try await ServerFixture.run(service) { server in
            let answer = try await server.client.evict(["a", "b"])
            #expect(answer == report)
            #expect(service.calls == [.evict(["a", "b"])])
        }
    }

    @Test func `the programs that had files fetched are told`() async throws {
        try await ServerFixture.run(FakeMount()) { server in
            let report = try await server.client.programs()
            #expect(report == Sample.programs)
        }
    }

    @Test func `a watch passes on the changes after a cursor, and a refusal`() async throws {
        let service = FakeMount()
        try await ServerFixture.run(service) { server in
            var events: [ChangeEvent] = []
            try await server.client.watchChanges(since: "h.1", below: ["a b"]) {
                events.append($0)
            }
            #expect(events == [ChangeEvent(cursor: "h.1"), Sample.change])
            #expect(service.calls == [.changes(since: "h.1", ["a b"])])
            let refusal = ControlError(.missing, what: "report", why: "forgotten")
            service.refuse(refusal)
            await #expect(throws: refusal) {
                try await server.client.watchChanges(since: nil, below: []) { _ in }
            }
        }
    }

    @Test func `a refresh reports its progress, and its failure`() async throws {
        let service = FakeMount()
        try await ServerFixture.run(service) { server in
            var reports: [RefreshProgress] = []
            let last = try await server.client.refresh(["a"]) { reports.append($0) }
            #expect(reports == [RefreshProgress(folders: 1), last])
            #expect(last == RefreshProgress(folders: 2, isDone: true))
            #expect(service.calls == [.refresh(["a"])])
            let refusal = ControlError(.failed, what: "list \"a\"", why: "no answer")
            service.refuse(refusal)
            await #expect(throws: refusal) { try await server.client.refresh([]) { _ in } }
        }
    }

    @Test func `pin tells its progress and ends with the last word`() async throws {
        let service = FakeMount()
        var steps = [PinProgress(), PinProgress(), PinProgress()]
        (steps[0].files, steps[0].bytes) = (2, 8192)
        (steps[1].isPinned, steps[1].filesMissing, steps[1].bytesMissing) = (true, 1, 4096)
        steps[1].failed = [.init(path: "b", error: Problem(what: "read b", why: "denied"))]
        (steps[2].isPinned, steps[2].isDone) = (true, true)
        service.tell(steps)
        try await ServerFixture.run(service) { [steps] server in
            var seen: [PinProgress] = []
            let last = try await server.client.pin(["d"], waits: false) { seen.append($0) }
            #expect(seen == steps)
            #expect(last == steps[2])
            #expect(service.calls == [.pin(["d"], waits: false)])
        }
    }

    @Test func `pins are listed, and ended`() async throws {
        let service = FakeMount()
        try await ServerFixture.run(service) { server in
            #expect(try await server.client.pins() == Sample.pins)
            #expect(try await server.client.unpin(["a", "b"]) == UnpinReport(unpinned: 2))
            #expect(service.calls == [.unpin(["a", "b"])])
            for path in ["pin", "unpin"] {
                let none = try await server.send(.post, "/v1/\(path)", body: "{\"paths\":[]}")
                #expect(none.status == 400)
            }
        }
    }

    @Test func `the trash is listed in pages`() async throws {
        let service = FakeMount()
        try await ServerFixture.run(service) { server in
            var items: [TrashItem] = []
            try await server.client.trash(below: "a") { items += $0.items }
            #expect(items == [Sample.trashed, Sample.trashed, Sample.trashed])
            #expect(service.calls == (0...2).map { .trash("a", after: $0, limit: 1_000) })
        }
    }

    @Test func `a restore tells its progress; without a path it is refused`() async throws {
        let service = FakeMount()
        var steps = [RestoreProgress(), RestoreProgress()]
        (steps[0].files, steps[0].bytes) = (1, 4096)
        steps[0].restored = [.init(path: "a", to: "a (2)", isRenamed: true)]
        steps[1].failed = [.init(path: "b", error: Problem(what: "restore b", why: "it is gone"))]
        steps[1].isDone = true
        service.tell(steps)
        try await ServerFixture.run(service) { [steps] server in
            var seen: [RestoreProgress] = []
            let last = try await server.client.restore(["d"], to: "/e/", isAll: true) {
                seen.append($0)
            }
            #expect(seen == steps)
            #expect(last == steps[1])
            #expect(service.calls == [.restore(["d"], to: "e", isAll: true)])
            let none = try await server.send(.post, "/v1/trash/restore", body: "{\"paths\":[]}")
            #expect(none.status == 400)
        }
    }

    /// Goal: a user sees that a long eviction is under way, and how far it is.
    @Test func `a long eviction reports its progress`() async throws {
        let service = FakeMount()
        let report = EvictReport(files: 3, bytesFreed: 900)
        service.evicting(report, whileLocalBytesAre: [1_000, 1_000, 700, 1_100, 100])
        try await ServerFixture.run(service) { server in
            let freed = Mutex<[UInt64]>([])
            let answer = try await server.client.evict(
                ["a"], reportingEvery: .milliseconds(1)
            ) { bytes in freed.withLock { $0.append(bytes) } }
            #expect(answer == report)
            // The answer may overtake the last status.
            #expect(freed.withLock { Array($0.prefix(3)) } == [0, 300, 0])
        }
    }

    @Test func `an eviction that fails reports no progress for ever`() async throws {
        let service = FakeMount()
        let refusal = ControlError(.failed, what: "evict \"x\"", why: "the disk is broken")
        service.refuse(refusal)
        try await ServerFixture.run(service) { server in
            await #expect(throws: refusal) {
                try await server.client.evict(["x"], reportingEvery: .milliseconds(1)) { _ in }
            }
        }
    }

    @Test func `resolve names the version and the choice, and tells where it is`() async throws {
        let service = FakeMount()
        try await ServerFixture.run(service) { server in
            let answer = try await server.client.resolve("a/b", keep: "theirs")
            #expect(answer == ResolveReport(path: "a/b"))
            #expect(service.calls == [.resolve("a/b", keep: "theirs")])
        }
    }

    @Test func `a link is made, or refused with the reason`() async throws {
        let service = FakeMount()
        try await ServerFixture.run(service) { server in
            let answer = try await server.client.link(to: "a/b c")
            #expect(answer.url == "https://cloud.example.org/a/b c")
            #expect(service.calls == [.link("a/b c")])
            let error = await #expect(throws: ControlError.self) {
                _ = try await server.client.link(to: "../a")
            }
            #expect(error?.kind == .invalid)
        }
    }

    @Test func `confirmed deletions are counted, with the progress of many`() async throws {
        let service = FakeMount()
        try await ServerFixture.run(service) { server in
            var seen: [DeletionsReport] = []
            let last = try await server.client.confirmDeletions { seen.append($0) }
            #expect(seen == Sample.confirmations)
            #expect(last == Sample.confirmations[1])
            #expect(service.calls == [.confirmDeletions])
        }
    }

    @Test func `rejected deletions are counted, and what is left is named`() async throws {
        let service = FakeMount()
        try await ServerFixture.run(service) { server in
            var seen: [RejectionReport] = []
            let last = try await server.client.rejectDeletions { seen.append($0) }
            #expect(seen == Sample.rejections)
            #expect(last == Sample.rejections[1])
            #expect(service.calls == [.rejectDeletions])
        }
    }

    @Test func `evict without a path is refused`() async throws {
        try await ServerFixture.run { server in
            let empty = try await server.send(.post, "/v1/evict")
            let none = try await server.send(.post, "/v1/evict", body: "{\"paths\":[]}")
            #expect(empty.status == 400)
            #expect(none.status == 400)
            #expect(server.service.calls == [])
        }
    }

    @Test func `a timeout is passed on, and the last report has what waits`() async throws {
        let service = FakeMount()
        var last = SyncProgress(isDone: true)
        last.isTimedOut = true
        last.waiting = [
            .init(
                path: "a", error: Problem(what: "send \"a\"", why: "it waits for its turn"),
                attempts: 0, retryAt: nil, since: Sample.start)
        ]
        service.tell([last])
        try await ServerFixture.run(service) { [last] server in
            let timeout: Duration = .milliseconds(1_500)
            #expect(try await server.client.sync(below: [], timeout: timeout) { _ in } == last)
            #expect(try await server.client.unmount(now: false, timeout: timeout) { _ in } == last)
            #expect(
                service.calls == [
                    .sync([""], timeout: timeout), .unmount(now: false, timeout: timeout),
                ])
            let wrong = try await server.send(.post, "/v1/sync", body: "{\"timeout\":-1}")
            #expect(wrong.status == 400)
        }
    }

    @Test(arguments: [false, true])
    func `unmount says whether to wait`(now: Bool) async throws {
        try await ServerFixture.run { server in
            let last = try await server.client.unmount(now: now) { _ in }
            #expect(last.isDone)
            #expect(server.service.calls == [.unmount(now: now)])
        }
    }

    @Test func `a body that is no JSON is refused`() async throws {
        try await ServerFixture.run { server in
            let answer = try await server.send(.post, "/v1/unmount", body: "now")
            #expect(answer.status == 400)
            #expect(answer.body.hasPrefix("{\"error\":{"))
            #expect(server.service.calls == [])
        }
    }

    @Test func `a body of more than 4 MiB is refused`() async throws {
        try await ServerFixture.run { server in
            let limit = 4 << 20
            for (count, status) in [(limit, 400), (limit + 1, 413)] {
                let body = String(repeating: " ", count: count)
                let answer = try await server.send(.post, "/v1/sync", body: body)
                #expect(answer.status == status)
            }
            #expect(server.service.calls == [])
        }
    }

    @Test func `an unknown route is a JSON error`() async throws {
        try await ServerFixture.run { server in
            let answer = try await server.send(.get, "/v2/about")
            #expect(answer.status == 404)
            #expect(answer.body.hasPrefix("{\"error\":{"))
        }
    }

    @Test func `a watch reports now and whenever something changed`() async throws {
        try await ServerFixture.run { server in
            var seen: [StatusReport] = []
            let watching = Task { [client = server.client, service = server.service] in
                var seen: [StatusReport] = []
                try? await client.watchStatus(below: []) { report in
                    seen.append(report)
                    if seen.count == 1 {
                        service.changeNothing()
                        service.change(Sample.clean)
                    } else {
                        withUnsafeCurrentTask { $0?.cancel() }
                    }
                }
                return seen
            }
            seen = await watching.value
            #expect(seen == [Sample.report, Sample.clean])
        }
    }

    @Test func `a watch ends in good order with its server`() async throws {
        let (begun, hasBegun) = AsyncStream<Void>.makeStream()
        var watching: Task<Void, any Error>?
        try await ServerFixture.run { server in
            watching = Task { [client = server.client] in
                try await client.watchStatus(below: []) { _ in hasBegun.finish() }
            }
            for await _ in begun {}
        }
        try await watching?.value
    }

    @Test func `hanging up ends the stream`() async throws {
        let service = FakeMount()
        service.tell([SyncProgress(pending: 1)])
        service.stayOpen()
        try await ServerFixture.run(service) { server in
            let syncing = Task { [client = server.client] in
                try await client.sync(below: []) { _ in withUnsafeCurrentTask { $0?.cancel() } }
            }
            await service.streamEnded()
            await #expect(throws: (any Error).self) { try await syncing.value }
        }
    }

    @Test func `stopping the server does not wait for streams for ever`() async throws {
        let service = FakeMount()
        service.tell([SyncProgress(pending: 1)])
        service.stayOpen()
        let (begun, hasBegun) = AsyncStream<Void>.makeStream()
        var syncing: Task<SyncProgress, any Error>?
        try await ServerFixture.run(service, farewell: .milliseconds(100)) { server in
            syncing = Task { [client = server.client] in
                try await client.sync(below: []) { _ in hasBegun.finish() }
            }
            for await _ in begun {}
        }
        await #expect(throws: (any Error).self) { try await syncing?.value }
    }
}
