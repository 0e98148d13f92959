import Engine
import Testing

@testable import ProviderS3
@testable import ProviderSupport
@testable import ProviderWebDAV
@testable import Transport

/// Goal: whatever stands in the header of an answer, it is understood as something that can be, or
/// passed over, within bounds.
///
/// Method: real headers with bits, bytes, numbers, values and lines changed; see ``Mutator``.
@Suite struct HeaderFuzzTests {
    /// Reads line by line, as libcurl hands them over.
    ///
    /// - Returns: nil for what is too large.
    private func read(_ bytes: [UInt8]) -> HTTPHeaders? {
        var reader = HeaderReader()
        for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
            let progress = (Array(line) + [0x0A]).withUnsafeBytes { reader.read($0) }
            if progress == .tooLarge { return nil }
        }
        return reader.headers
    }

    private func check(_ headers: HTTPHeaders) {
        let fields = Array(headers)
        #expect(fields.count <= HeaderReader.fieldsMax)
        // What is no UTF-8 becomes three bytes for one.
        let size = fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        #expect(size <= 3 * HeaderReader.bytesMax)
        #expect(!fields.contains { $0.name.utf8.contains(0x0A) || $0.value.utf8.contains(0x0A) })

        let response = HTTPResponse(status: 503, headers: headers)
        let pause = response.retryAfter(now: 1_700_000_000)
        #expect(pause.map { (.zero ... .seconds(3_600)).contains($0) } != false)
        if let range = headers["content-range"].flatMap(ContentRange.init) {
            #expect(!range.range.isEmpty && range.total ?? .max >= range.range.upperBound)
        }
        checkStore(response)
        _ = WebDAVServer(dav: headers.all("dav"))
        let version = WebDAVVersion(
            etag: headers["etag"], lastModified: headers["last-modified"], size: 5)
        for isStable in [true, false] {
            #expect(version.canBe(version.versionTag(isStable: isStable)))
        }
    }

    private func checkStore(_ response: HTTPResponse) {
        let head = S3Head(response.headers)
        let object = RemoteObject(
            name: WebDAVObjects.rootName, kind: head.metadata.isSymlink ? .symlink : .file,
            etag: head.metadata.isSymlink ? nil : head.etag,
            size: min(head.size, UInt64(Int64.max)),
            modified: head.metadata.modified ?? head.modified, mode: head.metadata.mode,
            target: head.metadata.isSymlink ? head.metadata.target ?? [1] : nil)
        expectSense([object])
        #expect((0..<1_000_000_000).contains(head.modified.nanosecondsOfSecond))
        for name in head.metadata.extendedAttributes.names {
            #expect(ExtendedAttributes.isKept(name))
        }
        // A skew is added to the time of day, in nanoseconds.
        let skew = S3Refusal(response, body: [], now: Timestamp(seconds: 1_700_000_000)).skew
        #expect(skew.map { abs($0.components.seconds) < 4_000_000_000 } != false)
    }

    @Test func `real headers are understood`() throws {
        for bytes in RealAnswers.headers {
            let headers = try #require(read(bytes))
            #expect(Array(headers).count >= 4)
            check(headers)
        }
    }

    @Test(arguments: Fuzz.seeds)
    func `damaged headers make sense or are passed over`(seed: UInt64) throws {
        var mutator = Mutator(.headers, seed: seed)
        var refused = 0
        for _ in 0..<Fuzz.cases {
            let (_, bytes) = mutator.next(from: RealAnswers.headers)
            guard let headers = read(bytes) else {
                refused += 1
                continue
            }
            check(headers)
        }
        #expect((1..<Fuzz.cases / 2).contains(refused))
    }
}
