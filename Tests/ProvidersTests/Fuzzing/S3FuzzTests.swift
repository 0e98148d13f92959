import Engine
import Testing
import Transport

@testable import ProviderS3
@testable import ProviderSupport

/// Goal: whatever a store answers, it is understood as something that can be, or refused.
///
/// Method: real answers with bits, bytes, numbers, values and elements changed; see ``Mutator``.
@Suite struct S3FuzzTests {
    /// What the directories `/`, `c` and one with part of a long name show of an answer.
    private func check(_ bytes: [UInt8]) throws {
        let page = try S3Listing(S3Element(parsing: bytes))
        let size = page.objects.reduce(0) { $0 + $1.key.bytes.count }
        #expect(size <= bytes.count)
        #expect(page.next?.isEmpty != true)
        let keys = S3KeyMap(prefix: S3Key("p/"))
        let long = S3Name.beginning(of: [UInt8](repeating: UInt8(ascii: "y"), count: 1_100)).name
        for name in [nil, FileName("c"), long] {
            let place = keys.place(of: name.map { ObjectKey([$0]) } ?? .root)
            var fold = S3ListingFold(place)
            fold.add(page)
            expectSense(fold.entries.map(\.remoteObject))
        }
    }

    @Test func `real answers are understood`() throws {
        for answer in RealAnswers.listings { try check(answer) }
    }

    @Test(arguments: Fuzz.seeds)
    func `damaged listings are valid or are refused`(seed: UInt64) throws {
        var mutator = Mutator(.xml, seed: seed)
        var understood = 0
        for _ in 0..<Fuzz.cases {
            let (_, bytes) = mutator.next(from: RealAnswers.listings)
            do {
                try check(bytes)
                understood += 1
            } catch let error as XMLError {
                #expect(!error.description.isEmpty)
            }
        }
        // Neither branch was left out.
        #expect((Fuzz.cases / 50..<Fuzz.cases).contains(understood))
    }

    @Test(arguments: Fuzz.seeds)
    func `damaged refusals are refusals`(seed: UInt64) throws {
        var mutator = Mutator(.xml, seed: seed)
        for _ in 0..<Fuzz.cases {
            let (_, bytes) = mutator.next(from: RealAnswers.refusals)
            let refusal = S3Refusal(
                HTTPResponse(status: 403), body: bytes, now: Timestamp(seconds: 0))
            let reason = refusal.error().reason
            #expect(!reason.isEmpty && reason.unicodeScalars.count <= 500, "\(reason)")
        }
    }
}

extension S3ListingFold.Entry {
    fileprivate var remoteObject: RemoteObject {
        RemoteObject(
            name: name, kind: object == nil ? .directory : .file, etag: object?.etag,
            size: object?.size ?? 0, modified: object?.modified ?? Timestamp(nanoseconds: 0),
            mode: nil)
    }
}
