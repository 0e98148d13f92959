import Testing

@testable import Engine

@Suite("Pages of a listing that are merged together")
struct ListingBatchTests {
    private func page(_ names: [Int], isLast: Bool = false) -> ListingPage {
        let objects = names.map { number in
            RemoteObject(
                name: FileName("name \(100_000 + number)")!, kind: .file, etag: ETag("\(number)"),
                size: 1, modified: Timestamp(seconds: 1), mode: nil)
        }
        return ListingPage(objects: objects, isLast: isLast)
    }

    @Test func `are in the order of their names`() {
        var batch = ListingBatch(at: .zero)
        let isDue = [
            batch.add(page([5, 3, 9]), at: .zero),
            batch.add(page([4, 1], isLast: true), at: .zero),
        ]
        #expect(isDue == [false, true])
        let (objects, rest) = (batch.take(at: .zero), batch.take(at: .zero))
        #expect(objects.map(\.etag) == [1, 3, 4, 5, 9].map { ETag("\($0)") })
        #expect(rest == [])
    }

    @Test func `are limited in number`() {
        var batch = ListingBatch(at: .zero)
        var count = 0
        while !batch.add(page(Array(count..<count + 1_000)), at: .zero) { count += 1_000 }
        let objects = batch.take(at: .zero)
        #expect(objects.count == count + 1_000)
        #expect((ListingBatch.objectsMax..<ListingBatch.objectsMax + 1_000).contains(objects.count))
    }

    @Test func `do not wait for those of a slow store`() {
        var batch = ListingBatch(at: .seconds(10))
        let isFirstDue = batch.add(page([1]), at: .seconds(12))
        let first = batch.take(at: .seconds(12))
        let areNextDue = [12.5, 13].map { batch.add(page([Int($0)]), at: .seconds($0)) }
        #expect(isFirstDue && first.count == 1)
        #expect(areNextDue == [false, true])
    }
}
