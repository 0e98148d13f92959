import Testing

@testable import Transport

@Suite struct HostLimitTests {
    /// Runs a busy host whose throughput depends on the number of concurrent requests.
    private func run(
        _ limit: inout HostLimit, from start: Duration, windows: Int,
        answersPerSecond: (Int) -> Int
    ) -> Duration {
        var now = start
        for _ in 0..<windows {
            let (begin, count) = (now, answersPerSecond(limit.current) / 2)
            for answer in 1...count {
                limit.noteWaiting(at: now)
                now = begin + .milliseconds(500 * answer) / count
                // A busy host answers each request the later the more there are.
                let time = Duration.seconds(limit.current) / answersPerSecond(limit.current)
                limit.noteAnswer(isRefusal: false, from: now - time, at: now)
            }
            limit.noteWaiting(at: now)
            limit.adjust(at: now)
        }
        return now
    }

    @Test func `there are as many requests as have room for two buffers each`() {
        var options = TransportOptions()
        options.limitRequests(bufferBytes: 16 << 20)
        #expect(options.requestsPerHost.max == 64)
        options.limitRequests(bufferBytes: 4 << 20)
        #expect(options.requestsPerHost.max == 16)
        options.limitRequests(bufferBytes: 1 << 20)
        #expect(options.requestsPerHost.max == options.requestsPerHost.start)
    }

    @Test func `the limit rises to its bound while throughput grows`() {
        var limit = HostLimit(.init(start: 4, max: 32), now: .zero)
        _ = run(&limit, from: .zero, windows: 40) { $0 * 20 }
        #expect(limit.current == 32)
    }

    @Test func `the limit of queries rises from 8 to 256 within a second of traffic`() {
        var limit = HostLimit(.init(start: 8, max: 256, pace: .queries), now: .zero)
        var now = Duration.zero
        while limit.current < 256, now < .seconds(2) {
            limit.noteWaiting(at: now)
            now += .milliseconds(50)
            // Each query takes 25 ms.
            for _ in 0..<(limit.current * 2) {
                limit.noteAnswer(isRefusal: false, from: now - .milliseconds(25), at: now)
            }
            limit.adjust(at: now)
        }
        #expect(limit.current == 256)
        #expect(now < .milliseconds(300))
    }

    /// Method: each request takes 20 ms, up to 32 at a time; more take as much longer.
    @Test func `the limit doubles with each round of answers that take no longer`() {
        for (width, expected) in [(1_000, 256), (32, 64)] {
            var limit = HostLimit(.init(start: 8, max: 256, pace: .queries), now: .zero)
            var now = Duration.zero
            var limits: [Int] = []
            for _ in 1...6 {
                let time = Duration.milliseconds(20) * max(limit.current, width) / width
                let begin = now
                now += time
                for _ in 0..<limit.current {
                    limit.noteWaiting(at: now)
                    limit.noteAnswer(isRefusal: false, from: begin, at: now)
                }
                limits.append(limit.current)
            }
            #expect(limits.prefix(3) == [16, 32, 64])
            #expect(limits.last == expected)
        }
    }

    /// Without waiting requests, the limit is not the bottleneck.
    @Test
    func `answers while nothing waits, and those to requests of before a step, count for nothing`()
    {
        var limit = HostLimit(.init(start: 8, max: 64), now: .zero)
        for _ in 0..<100 { limit.noteAnswer(isRefusal: false, from: .zero, at: .milliseconds(20)) }
        #expect(limit.current == 8)
        limit.adjust(at: .milliseconds(300))
        limit.noteWaiting(at: .milliseconds(300))
        for _ in 0..<3 {
            limit.noteAnswer(
                isRefusal: false, from: .milliseconds(300), at: .milliseconds(320))
        }
        #expect(limit.current == 8)
        for _ in 0..<100 {
            limit.noteAnswer(
                isRefusal: false, from: .milliseconds(300), at: .milliseconds(320))
            limit.noteWaiting(at: .milliseconds(320))
        }
        #expect(limit.current == 16)
    }

    /// Runs a busy host that answers some requests at a time within 20 ms, and the others after a time or
    /// never. Returns the limits at the end of each second.
    private func limits(
        _ bounds: HostLimit.Bounds, quick: Int, long: (_ active: Int) -> Duration?
    ) -> [Int] {
        var limit = HostLimit(bounds, now: .zero)
        var active: [(begin: Duration, end: Duration?, isQuick: Bool)] = []
        var limits: [Int] = []
        for millisecond in 1...20_000 {
            let now = Duration.milliseconds(millisecond)
            let ended = active.filter { $0.end.map { $0 <= now } ?? false }
            active.removeAll { $0.end.map { $0 <= now } ?? false }
            for request in ended {
                limit.noteAnswer(isRefusal: false, from: request.begin, at: now)
            }
            while active.count < limit.current {
                let isQuick = active.count(where: \.isQuick) < quick
                let time = isQuick ? .milliseconds(20) : long(active.count)
                active.append((now, time.map { now + $0 }, isQuick))
            }
            limit.noteWaiting(at: now)
            if millisecond % 50 == 0 { limit.adjust(at: now) }
            if millisecond % 1_000 == 0 { limits.append(limit.current) }
        }
        return limits
    }

    @Test func `places that are never answered raise no limit for long`() {
        let bounds = HostLimit.Bounds(start: 8, max: 256, pace: .queries)
        let limits = limits(bounds, quick: 8) { _ in nil }
        #expect(limits.max()! <= 64)
        #expect(limits.last! <= 32)
    }

    @Test func `a few quick requests beside long ones raise no limit`() {
        // The long ones share a narrow link.
        let limits = limits(.init(start: 8, max: 64), quick: 2) { .seconds($0) }
        #expect(limits.max()! <= 18, "12, and half as many more while a step is tried")
    }

    @Test func `the limit stays where a higher one has no effect`() {
        var limit = HostLimit(.init(start: 4, max: 32), now: .zero)
        for _ in 0..<5 {
            _ = run(&limit, from: .zero, windows: 40) { min($0, 9) * 20 }
            // Up to 12, and half as many more while a step is tried.
            #expect(limit.current >= 8 && limit.current <= 18)
        }
        var single = HostLimit(.init(start: 4, max: 32), now: .zero)
        _ = run(&single, from: .zero, windows: 6) { _ in 50 }
        #expect(single.current == 4)
    }

    /// A second is long for who has a few hundred small files to send.
    @Test func `the limit doubles at first, and no longer after a step without effect`() {
        var limit = HostLimit(.init(start: 8, max: 64), now: .zero)
        _ = run(&limit, from: .zero, windows: 3) { $0 * 40 }
        #expect(limit.current == 64)
        var narrow = HostLimit(.init(start: 8, max: 64), now: .zero)
        let now = run(&narrow, from: .zero, windows: 3) { min($0, 8) * 40 }
        #expect(narrow.current == 8)
        _ = run(&narrow, from: now + .seconds(6), windows: 1) { $0 * 40 }
        #expect(narrow.current == 12)
    }

    @Test func `timeouts halve a grown limit, but not the initial one`() {
        var limit = HostLimit(.init(start: 8, max: 64), now: .zero)
        let now = run(&limit, from: .zero, windows: 3) { $0 * 40 }
        for second in 1...2 {
            for _ in 0..<5 { limit.noteTimeout(at: now + .seconds(second * 2)) }
            #expect(limit.current == 64 >> second)
        }
        for second in 3...9 { limit.noteTimeout(at: now + .seconds(second * 2)) }
        #expect(limit.current == 8)
    }

    @Test func `bytes count as much as answers`() {
        var limit = HostLimit(.init(start: 4, max: 32), now: .zero)
        var now = Duration.zero
        for _ in 0..<40 {
            limit.noteWaiting(at: now)
            now += .milliseconds(500)
            limit.noteBytes(UInt64(limit.current) * 25_000_000)
            limit.adjust(at: now)
        }
        #expect(limit.current == 32)
    }

    @Test func `the limit stays while no request waits, or too few are answered`() {
        var limit = HostLimit(.init(start: 4, max: 32), now: .zero)
        for second in 1...100 {
            for _ in 0..<100 {
                limit.noteAnswer(
                    isRefusal: false, from: .seconds(second - 1), at: .seconds(second))
            }
            limit.adjust(at: .seconds(second))
        }
        #expect(limit.current == 4)
        for second in 101...104 {
            limit.noteWaiting(at: .seconds(second))
            limit.adjust(at: .seconds(second))
        }
        #expect(limit.current == 4)
    }

    @Test func `the limit halves with each burst of refusals, down to one, and recovers`() {
        var limit = HostLimit(.init(start: 16, max: 32), now: .zero)
        for _ in 0..<10 { limit.noteAnswer(isRefusal: true, from: .zero, at: .seconds(10)) }
        #expect(limit.current == 8)
        limit.noteAnswer(isRefusal: true, from: .zero, at: .seconds(12))
        #expect(limit.current == 4)
        for second in 13...20 {
            limit.noteAnswer(isRefusal: true, from: .zero, at: .seconds(second))
        }
        #expect(limit.current == 1)
        _ = run(&limit, from: .seconds(20), windows: 8) { $0 * 20 }
        #expect(limit.current == 1, "too soon")
        _ = run(&limit, from: .seconds(25), windows: 60) { $0 * 20 }
        #expect(limit.current == 32)
    }
}

@Suite struct AdmissionTests {
    @Test func `each host has its own limit and its own order`() {
        var admission = Admission<Int>(.init(start: 2, max: 2))
        var started: [Int] = []
        for request in 1...4 { started += admission.enqueue(request, host: "a", at: .zero) }
        started += admission.enqueue(5, host: "b", at: .zero)
        #expect(started == [1, 2, 5])
        #expect(admission.hasWaiting)
        #expect(admission.end(host: "a", from: .zero, status: 200, at: .zero) == [3])
        #expect(admission.end(host: "b", from: .zero, status: nil, at: .zero) == [])
        #expect(admission.end(host: "a", from: .zero, status: 200, at: .zero) == [4])
        #expect(!admission.hasWaiting)
    }

    @Test func `a withdrawn request never starts`() {
        var admission = Admission<Int>(.init(start: 1, max: 1))
        for request in 1...5 { _ = admission.enqueue(request, host: "a", at: .zero) }
        admission.withdraw(2)
        admission.withdraw(5)
        #expect(admission.end(host: "a", from: .zero, status: 200, at: .zero) == [3])
        #expect(admission.end(host: "a", from: .zero, status: 200, at: .zero) == [4])
        #expect(admission.end(host: "a", from: .zero, status: 200, at: .zero) == [])
        #expect(!admission.hasWaiting)
        #expect(admission.enqueue(6, host: "a", at: .zero) == [6])
    }

    @Test func `a refusal lets fewer start, a grown limit more`() {
        var admission = Admission<Int>(.init(start: 4, max: 8))
        for request in 1...10 { _ = admission.enqueue(request, host: "a", at: .zero) }
        #expect(admission.end(host: "a", from: .zero, status: 503, at: .seconds(1)) == [])
        #expect(admission.limit(of: "a") == 2)
        #expect(admission.end(host: "a", from: .zero, status: 200, at: .seconds(1)) == [])
        #expect(admission.end(host: "a", from: .zero, status: 200, at: .seconds(1)) == [5])
        var fresh = Admission<Int>(.init(start: 4, max: 8))
        for request in 1...10 { _ = fresh.enqueue(request, host: "a", at: .zero) }
        let started = (1...4).map { _ in
            fresh.end(host: "a", from: .zero, status: 200, at: .milliseconds(20))
        }
        #expect(started == [[5], [6, 7, 8, 9, 10], [], []])
        #expect(fresh.limit(of: "a") == 8)
        var steady = Admission<Int>(.init(start: 4, max: 8))
        for request in 1...10 { _ = steady.enqueue(request, host: "a", at: .zero) }
        steady.noteBytes(64 << 20, host: "a", lane: .metadata)
        #expect(steady.adjustLimits(at: .milliseconds(200)) == [])
        #expect(steady.adjustLimits(at: .milliseconds(300)) == [5, 6, 7, 8])
    }

    @Test func `a slow request leaves its place to others, up to the bound`() {
        var admission = Admission<Int>(.init(start: 1, max: 3))
        #expect(admission.enqueue(1, host: "a", at: .zero) == [1])
        for request in 2...5 { #expect(admission.enqueue(request, host: "a", at: .zero) == []) }
        #expect(admission.adjustLimits(at: .seconds(6), slow: ["a": [.metadata: 1]]) == [2])
        #expect(admission.adjustLimits(at: .seconds(7), slow: ["a": [.metadata: 1]]) == [])
        #expect(admission.adjustLimits(at: .seconds(12), slow: ["a": [.metadata: 2]]) == [3])
        #expect(admission.adjustLimits(at: .seconds(18), slow: ["a": [.metadata: 3]]) == [])
        #expect(admission.end(host: "a", from: .zero, status: nil, at: .seconds(19)) == [4])
        // One of them continues.
        #expect(admission.adjustLimits(at: .seconds(20), slow: ["a": [.metadata: 2]]) == [])
        #expect(admission.end(host: "a", from: .zero, status: 200, at: .seconds(21)) == [5])
    }

    @Test(arguments: [Lane.metadata, .read, .change, .download])
    func `long bodies delay no other kind of request, nor vice versa`(lane: Lane) {
        var admission = Admission<Int>(.init(start: 2, max: 16))
        var started: [Int] = []
        for upload in 1...9 {
            started += admission.enqueue(upload, host: "a", lane: .upload, at: .zero)
        }
        #expect(started == [1, 2])
        started = []
        for other in 11...19 {
            started += admission.enqueue(other, host: "a", lane: lane, at: .zero)
        }
        #expect(started == [11, 12])
        #expect(admission.end(host: "a", lane: lane, from: .zero, status: 200, at: .zero) == [13])
        #expect(admission.end(host: "a", lane: .upload, from: .zero, status: 200, at: .zero) == [3])
    }

    @Test func `each kind leaves places to the more urgent ones`() {
        var admission = Admission<Int>(.init(start: 16, max: 16))
        var counts: [Int] = []
        for lane in Lane.allCases.reversed() {
            let requests = (1...20).map { lane.rawValue * 100 + $0 }
            counts.append(
                requests.reduce(0) {
                    $0 + admission.enqueue($1, host: "a", lane: lane, at: .zero).count
                })
        }
        #expect(counts == [8, 2, 2, 2, 2])
    }

    /// Goal: changes that a server never answers stop neither uploads nor other changes.
    @Test(arguments: [Lane.upload, .change, .metadata])
    func `requests without an answer leave places to each kind`(lane: Lane) {
        var admission = Admission<Int>(.init(start: 4, max: 64))
        var hung = 0
        for request in 1...200 {
            hung += admission.enqueue(request, host: "a", lane: .change, at: .zero).count
        }
        for second in 1...20 where hung < 60 {
            hung +=
                admission.adjustLimits(
                    at: .seconds(second * 10), slow: ["a": [.change: hung]]
                ).count
        }
        #expect((60...64).contains(hung))
        if lane != .change {
            #expect(admission.enqueue(1_000, host: "a", lane: lane, at: .seconds(201)) == [1_000])
        }
        // A server that answers nothing at all is not flooded.
        for second in 21...200 {
            hung +=
                admission.adjustLimits(
                    at: .seconds(second * 10), slow: ["a": [.change: hung]]
                ).count
        }
        #expect(hung <= 2 * 64)
    }

    @Test func `a refusal lets fewer start of each kind`() {
        var admission = Admission<Int>(.init(start: 4, max: 32))
        for lane in [Lane.upload, .metadata] {
            for request in 1...8 {
                _ = admission.enqueue(
                    lane.rawValue * 100 + request, host: "a", lane: lane, at: .zero)
            }
        }
        #expect(
            admission.end(host: "a", lane: .upload, from: .zero, status: 429, at: .seconds(1)) == []
        )
        for lane in [Lane.upload, .metadata] {
            // Only the first refusal of a burst counts, so two places are left to each.
            var ends = lane == .upload ? 1 : 2
            while ends > 0 {
                #expect(
                    admission.end(host: "a", lane: lane, from: .zero, status: 200, at: .seconds(1))
                        == [])
                ends -= 1
            }
            #expect(
                admission.end(host: "a", lane: lane, from: .zero, status: 200, at: .seconds(1))
                    == [lane.rawValue * 100 + 5])
        }
    }

    @Test func `the lane of a request depends on the bytes that it moves`() {
        func lane(_ method: HTTPMethod, body: Int = 0, answer: UInt64 = 0) -> Lane {
            var request = HTTPRequest(
                method, "http://a/", body: .bytes([UInt8](repeating: 0, count: body)))
            request.answerBytes = answer
            return Lane(request)
        }
        #expect(lane(.propfind, body: 500) == .metadata)
        #expect(lane(.get) == .metadata)
        #expect(lane(.get, answer: 1) == .read)
        #expect(lane(.get, answer: 1 << 20) == .read)
        #expect(lane(.get, answer: 4 << 20) == .download)
        #expect(lane(.delete) == .change)
        #expect(lane(.put, body: 1_000) == .change)
        #expect(lane(.put, body: 100_000) == .upload)
        #expect(lane(.post, body: 100_000) == .upload)
    }

    /// Goal: many queries at a time take no places from reads and changes, and a host that refuses
    /// either gets fewer of both.
    @Test func `queries have a limit of their own`() {
        var admission = Admission<Int>(
            .init(start: 2, max: 16), queries: .init(start: 64, max: 64, pace: .queries))
        let queries = (1...100).reduce(0) {
            $0 + admission.enqueue($1, host: "a", lane: .metadata, at: .zero).count
        }
        #expect(queries == 64)
        for lane in [Lane.read, .change, .upload] {
            let others = (1...10).reduce(0) {
                $0
                    + admission.enqueue(lane.rawValue * 100 + $1, host: "a", lane: lane, at: .zero)
                    .count
            }
            #expect(others == 2)
        }
        _ = admission.end(host: "a", lane: .read, from: .zero, status: 503, at: .seconds(1))
        #expect(admission.limit(of: "a", lane: .read) == 1)
        #expect(admission.limit(of: "a", lane: .metadata) == 32)
    }

    /// Goal: queries that try a higher limit each second do not bring that of all others to one.
    @Test func `refused queries leave the others their limit, unless those are more`() {
        for (queries, uploads, limitLeft) in [(16, 4, 8), (4, 8, 4)] {
            var admission = Admission<Int>(
                .init(start: 8, max: 16), queries: .init(start: 16, max: 64, pace: .queries))
            for number in 0..<queries {
                _ = admission.enqueue(number, host: "a", lane: .metadata, at: .zero)
            }
            for number in 0..<uploads {
                _ = admission.enqueue(100 + number, host: "a", lane: .upload, at: .zero)
            }
            _ = admission.end(host: "a", lane: .metadata, from: .zero, status: 503, at: .seconds(1))
            #expect(admission.limit(of: "a", lane: .metadata) == 8)
            #expect(admission.limit(of: "a", lane: .upload) == limitLeft)
        }
    }

    @Test func `what queries do not need of the places is not kept for them`() {
        var admission = Admission<Int>(
            .init(start: 16, max: 16), queries: .init(start: 8, max: 64, pace: .queries))
        let reads = (1...20).reduce(0) {
            $0 + admission.enqueue($1, host: "a", lane: .read, at: .zero).count
        }
        #expect(reads == 16)
    }

    @Test func `idle hosts are forgotten`() {
        var admission = Admission<Int>(.init(start: 1, max: 1))
        for host in 0..<1_000 {
            _ = admission.enqueue(host, host: "\(host)", at: .zero)
            _ = admission.end(host: "\(host)", from: .zero, status: 429, at: .zero)
        }
        #expect((0..<1_000).filter { admission.limit(of: "\($0)") != nil }.count <= 64)
    }
}
