import Engine
import Host
import Synchronization
import Testing

@testable import ProviderS3

@Suite struct S3CredentialPlanTests {
    private static let failure = S3CredentialError("down", remedy: "wait", kind: .passing)

    private func credentials(_ name: String, until end: Int64?) -> S3Credentials {
        S3Credentials(
            accessKey: name, secretKey: "s", expires: end.map { Timestamp(seconds: $0) },
            origin: .machine)
    }

    /// Plays a request each second.
    ///
    /// - Parameter give: Answers who asks at that second.
    /// - Returns: When it was asked, and what was used, or nil for a failure.
    private func play(
        _ seconds: Range<Int64>, give: (Int64) -> S3Credentials?
    ) -> (asked: [Int64], used: [Int64: String?]) {
        var plan = S3CredentialPlan()
        var asked: [Int64] = []
        var used: [Int64: String?] = [:]
        for second in seconds {
            let now = Timestamp(seconds: second)
            var step = plan.step(at: now)
            if step == .ask {
                asked.append(second)
                if let given = give(second) {
                    plan.received(given, at: now)
                } else {
                    plan.failed(Self.failure, at: now)
                }
                step = plan.step(at: now)
            }
            switch step {
            case .use(let credentials): used[second] = credentials.accessKey
            case .fail(let error): used[second] = error == Self.failure ? .some(nil) : "other"
            case .ask, .wait: used[second] = "\(step)"
            }
        }
        return (asked, used)
    }

    @Test func `credentials are renewed shortly before they expire`() {
        let (asked, used) = play(0..<1_500) { second in
            credentials("\(second)", until: second + 1_000)
        }
        #expect(asked == [0, 700, 1_400])
        #expect(used[699] == "0" && used[700] == "700")
        #expect(play(0..<1_500) { _ in credentials("good", until: nil) }.asked == [0])
    }

    /// Goal: who has no others yet is not asked at every request.
    @Test func `a server that keeps giving the same credentials is not asked again at once`() {
        let (asked, used) = play(0..<1_001) { second in
            second < 1_000 ? credentials("old", until: 1_000) : credentials("new", until: 5_000)
        }
        #expect(asked == [0] + Array(stride(from: 700, to: 1_000, by: 30)) + [1_000])
        #expect((0..<1_000).allSatisfy { used[$0] == "old" } && used[1_000] == "new")
    }

    @Test func `if no others are given, the old credentials are used until they expire`() {
        let (asked, used) = play(0..<1_030) { second in
            second == 0
                ? credentials("old", until: 1_000)
                : second < 1_020 ? nil : credentials("new", until: 5_000)
        }
        #expect(asked.filter { $0 < 1_000 } == [0] + Array(stride(from: 700, to: 1_000, by: 30)))
        #expect(asked.filter { $0 >= 1_000 } == [1_000, 1_005, 1_010, 1_015, 1_020])
        #expect((0..<1_000).allSatisfy { used[$0] == "old" })
        #expect((1_000..<1_020).allSatisfy { used[$0] == .some(nil) })
        #expect(used[1_020] == "new")
    }

    @Test func `expired credentials that are given again are used until they are refused`() {
        let (asked, used) = play(2_000..<2_060) { _ in credentials("ended", until: 1_000) }
        #expect(asked == [2_000, 2_030])
        #expect(used.values.allSatisfy { $0 == "ended" })
        var plan = S3CredentialPlan()
        #expect(plan.step(at: Timestamp(seconds: 2_000)) == .ask)
        plan.received(credentials("ended", until: 1_000), at: Timestamp(seconds: 2_000))
        plan.drop(credentials("others", until: nil))
        #expect(plan.step(at: Timestamp(seconds: 2_001)) != .ask)
        plan.drop(credentials("ended", until: 1_000))
        #expect(plan.step(at: Timestamp(seconds: 2_001)) == .ask)
    }

    @Test func `one task loads, the others use valid credentials or wait`() {
        var plan = S3CredentialPlan()
        let start = Timestamp(seconds: 0)
        #expect(plan.step(at: start) == .ask && plan.step(at: start) == .wait)
        let old = credentials("old", until: 1_000)
        plan.received(old, at: start)
        let late = Timestamp(seconds: 800)
        #expect(plan.step(at: late) == .ask && plan.step(at: late) == .use(old))
        #expect(plan.step(at: Timestamp(seconds: 1_000)) == .wait)
        // That who asked was cancelled says nothing: the next one asks.
        plan.failed(nil, at: Timestamp(seconds: 1_000))
        #expect(plan.step(at: Timestamp(seconds: 1_000)) == .ask)
    }

    @Test func `a clock that was set back does not prevent a load`() {
        var plan = S3CredentialPlan()
        #expect(plan.step(at: Timestamp(seconds: 9_000)) == .ask)
        plan.failed(Self.failure, at: Timestamp(seconds: 9_000))
        #expect(plan.step(at: Timestamp(seconds: 9_001)) == .fail(Self.failure))
        #expect(plan.step(at: Timestamp(seconds: 100)) == .ask)
    }

    @Test(.timeLimit(.minutes(1)))
    func `of many requests that need credentials, one loads them`() async throws {
        let asked = Mutex(0)
        let (arrivals, arrival) = AsyncStream<Void>.makeStream()
        let requests = 20
        let cache = S3CredentialCache { _ in
            asked.withLock { $0 += 1 }
            var count = 0
            for await _ in arrivals {
                count += 1
                if count == requests { break }
            }
            return S3Credentials(accessKey: "id", secretKey: "s", origin: .machine)
        }
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<requests {
                group.addTask {
                    arrival.yield()
                    return try await cache.credentials(by: SystemClock()).accessKey
                }
            }
            for try await key in group { #expect(key == "id") }
        }
        #expect(asked.withLock { $0 } == 1)
        #expect(cache.origin == .machine)
    }

    /// Goal: a command that asks the user is not ended because a request or probe gives up, and its
    /// time is not taken for silence of the store.
    @Test(.timeLimit(.minutes(1)))
    func `a load outlives who has asked for it, and is no silence`() async throws {
        let asked = Mutex(0)
        let (ends, end) = AsyncStream<Void>.makeStream()
        let (beginnings, begin) = AsyncStream<Void>.makeStream()
        let cache = S3CredentialCache { _ throws(S3CredentialError) in
            asked.withLock { $0 += 1 }
            begin.yield()
            for await _ in ends { break }
            if Task.isCancelled { throw .cancelled }
            return S3Credentials(accessKey: "id", secretKey: "s", origin: .machine)
        }
        let first = Task { try await cache.credentials(by: SystemClock()) }
        for await _ in beginnings { break }
        let (signs, sign) = AsyncStream<Void>.makeStream()
        let second = Task {
            try await SignOfLife.$note.withValue({ sign.yield() }) {
                try await cache.credentials(by: SystemClock())
            }
        }
        first.cancel()
        #expect(
            await #expect(throws: S3CredentialError.self) { try await first.value }?.kind
                == .cancelled)
        for await _ in signs.prefix(2) {}
        end.yield()
        #expect(try await second.value.accessKey == "id")
        #expect(asked.withLock { $0 } == 1)
    }
}
