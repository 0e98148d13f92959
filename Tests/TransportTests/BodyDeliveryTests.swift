import Dispatch
import Synchronization
import Testing

@testable import Transport

@Suite("The delivery of a body")
struct BodyDeliveryTests {
    private final class Pieces: HTTPBodySink {
        let received = Mutex<[(status: Int, bytes: [UInt8])]>([])

        func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) {
            received.withLock { $0.append((response.status, [UInt8](bytes))) }
        }
    }

    private static func deliver(
        _ pieces: [(answer: Int, bytes: [UInt8])]
    ) async -> [(status: Int, bytes: [UInt8])] {
        let sink = Pieces()
        let delivery = BodyDelivery(into: sink, on: BodyPool(waitingBytesMax: 8 << 20))
        for (answer, bytes) in pieces {
            let acceptance = bytes.withUnsafeBytes {
                delivery.append($0, of: HTTPResponse(status: 200 + answer), answer: answer)
            }
            guard case .accepted = acceptance else { Issue.record("not accepted"); continue }
        }
        delivery.start()
        let failure = await withCheckedContinuation { continuation in
            delivery.end { continuation.resume(returning: $0) }
        }
        #expect(failure == nil)
        return sink.received.withLock { $0 }
    }

    @Test func `joins bytes that arrive together`() async {
        let received = await Self.deliver((0..<40).map { (1, Array(repeating: $0, count: 16_384)) })
        #expect(received.count == 5)
        #expect(received.allSatisfy { $0.bytes.count <= BodyDelivery.chunkBytes })
        #expect(
            received.flatMap(\.bytes)
                == (0..<40).flatMap { Array(repeating: UInt8($0), count: 16_384) })
    }

    @Test func `does not join the bodies of two answers`() async {
        let received = await Self.deliver([(1, [1, 2]), (1, [3]), (2, [4]), (2, [5])])
        #expect(received.map(\.status) == [201, 202])
        #expect(received.map(\.bytes) == [[1, 2, 3], [4, 5]])
    }

    private final class Gate: HTTPBodySink {
        let isOpen = DispatchSemaphore(value: 0)

        func receive(_: UnsafeRawBufferPointer, of _: HTTPResponse) {
            isOpen.wait()
            isOpen.signal()
        }
    }

    @Test func `of all answers holds no more than its limit, and a chunk of each`() async {
        let pool = BodyPool(waitingBytesMax: 64 << 10)
        let gate = Gate()
        let chunk = [UInt8](repeating: 1, count: 16 << 10)
        func append(to delivery: BodyDelivery) -> Bool {
            chunk.withUnsafeBytes {
                let acceptance = delivery.append($0, of: HTTPResponse(status: 200), answer: 1)
                guard case .accepted = acceptance else { return false }
                return true
            }
        }
        let first = BodyDelivery(into: gate, on: pool)
        let resumed = AsyncStream.makeStream(of: Void.self)
        first.onChange { resumed.continuation.yield() }
        var count = 0
        while count < 100, append(to: first) { count += 1 }
        #expect(count == 4)
        let second = BodyDelivery(into: gate, on: pool)
        #expect(append(to: second))
        #expect(!append(to: second))
        first.start()
        gate.isOpen.signal()
        for await _ in resumed.stream { break }
        #expect(append(to: first))
        for delivery in [first, second] {
            delivery.start()
            let failure = await withCheckedContinuation { continuation in
                delivery.end { continuation.resume(returning: $0) }
            }
            #expect(failure == nil)
        }
    }

    @Test func `gives back the room of bytes that were dropped`() {
        let pool = BodyPool(waitingBytesMax: 16 << 10)
        do {
            let delivery = BodyDelivery(into: Pieces(), on: pool)
            [UInt8](repeating: 1, count: 32 << 10).withUnsafeBytes {
                _ = delivery.append($0, of: HTTPResponse(status: 200), answer: 1)
            }
            #expect(!pool.hasRoom)
            delivery.cancel()
        }
        #expect(pool.hasRoom)
    }
}
