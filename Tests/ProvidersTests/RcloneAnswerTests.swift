import Engine
import Testing
import Transport

@testable import ProviderRclone
@testable import ProviderSupport

/// What rclone says is looked at before it is believed: names and numbers in it are the cloud's.
@Suite struct RcloneAnswerTests {
    // Answers of rclone 1.75.2, shortened.
    private static let list = """
        {"list":[{"Path":"d/a.txt","Name":"a.txt","Size":3,"ModTime":"2026-11-21T12:09:51.833984966Z",
        "IsDir":false,"ID":"x1","Hashes":{"md5":"764efa883dda1e11db47671c4a3bbd9e"}},
        {"Path":"d/sub","Name":"sub","Size":-1,"ModTime":"2000-01-01T00:00:00+01:00","IsDir":true},
        {"Path":"d/ü b","Name":"ü\\u240a b","Size":2,"ModTime":"2026-11-21T12:09:51Z","IsDir":false}]}
        """
    private static let stat = """
        {"item":{"Path":"a","Name":"a","Size":3,"ModTime":"2026-11-21T12:09:51.8Z","IsDir":false}}
        """
    private static let about = """
        {"free":77794299904,"total":270553174016,"used":23648886784}
        """
    private static let fileSystem = """
        {"Features":{"About":true,"CanHaveEmptyDirectories":true,"DirMove":true,"Move":true,
        "PublicLink":false,"SlowHash":true},"Hashes":["md5","sha1"],"Name":"local","Precision":1,
        "Root":"/d","String":"Local file system at /d"}
        """
    private static let version = """
        {"arch":"amd64","decomposed":[1,75,2],"isBeta":false,"version":"v1.75.2"}
        """
    private static let stats = """
        {"bytes":12,"checks":0,"eta":null,"speed":0.5,"transfers":0}
        """
    private static let command = """
        {"error":false,"result":""}
        """
    private static let fault = """
        {"error":"error in ListJSON: directory not found","input":{"fs":"plain:","remote":"none"},
        "path":"operations/list","status":404}
        """

    // MARK: Reading

    private let meaning = RcloneMeaning(keepsEmptyDirectories: true, cheapHash: "md5")

    @Test func `equal bytes are known by a hash, not by a checksum`() {
        let (former, later) = (ETag("5-100-id-aa"), ETag("5-200-id-aa"))
        #expect(meaning.hasSameBytes(former, as: later))
        #expect(!meaning.hasSameBytes(former, as: ETag("5-200-id-bb")))
        #expect(!meaning.hasSameBytes(ETag("5-100-id-"), as: ETag("5-200-id-")))
        for weak in ["crc32", nil] {
            let meaning = RcloneMeaning(keepsEmptyDirectories: true, cheapHash: weak)
            #expect(meaning.hasSameBytes(former, as: former))
            #expect(!meaning.hasSameBytes(former, as: later))
        }
    }

    private func read<Answer: Decodable>(
        _ bytes: [UInt8], status: Int = 200
    ) -> Result<Answer, ProviderError> {
        var input = RcloneInput()
        input.remote = "none"
        let response = HTTPResponse(status: status)
        do throws(ProviderError) {
            return .success(try RcloneClient.read(response, bytes, to: input))
        } catch {
            return .failure(error)
        }
    }

    /// Reads an answer as `Answer`, and checks what is understood of it.
    ///
    /// - Returns: Whether it was one.
    private func check<Answer: Decodable>(
        _ bytes: [UInt8], _ understood: (Answer) -> Void
    ) -> Bool {
        switch read(bytes) as Result<Answer, ProviderError> {
        case .success(let answer):
            understood(answer)
            return true
        case .failure(let error):
            #expect(error.kind == .corrupt)
            #expect(!error.reason.isEmpty)
            return false
        }
    }

    private func check(_ objects: [RemoteObject]) {
        #expect(Set(objects.map(\.name)).count == objects.count)
        for object in objects {
            #expect((1...255).contains(object.name.bytes.count))
            #expect(!object.name.bytes.contains(0) && !object.name.bytes.contains(0x2F))
            #expect(object.size <= UInt64(Int64.max))
            #expect((object.kind == .file) == (object.etag != nil))
            #expect(object.etag.flatMap(RcloneMeaning.size) ?? 0 == object.size)
            #expect(!object.modified.rfc3339.isEmpty)
        }
    }

    private func checkList(_ bytes: [UInt8]) -> Bool {
        do throws(ProviderError) {
            check(try objects(in: bytes))
            return true
        } catch {
            #expect(error.kind == .corrupt)
            #expect(!error.reason.isEmpty)
            return false
        }
    }

    private func checkAll(_ seed: String, _ bytes: [UInt8]) -> Bool {
        switch seed {
        case Self.list: return checkList(bytes)
        case Self.stat:
            return check(bytes) { (answer: RcloneStat) in
                guard let item = answer.item, let name = RcloneName.decode(item.name) else {
                    return
                }
                check([meaning.object(item, name: name)].compactMap(\.self))
            }
        case Self.about:
            return check(bytes) { (answer: RcloneAbout) in
                let space = RcloneMeaning.space(answer)
                #expect(space.map { $0.availableBytes <= $0.freeBytes } ?? true)
                #expect(space.map { $0.freeBytes <= $0.totalBytes } ?? true)
            }
        case Self.fileSystem:
            return check(bytes) { (answer: RcloneFileSystem) in
                #expect(answer.modifiedResolution.map { $0 > .zero } ?? true)
                _ = answer.cheapHash
            }
        case Self.version:
            return check(bytes) { (answer: RcloneCoreVersion) in
                _ = RcloneVersion(numbers: answer.decomposed) < .oldest
            }
        case Self.stats: return check(bytes) { (_: RcloneStats) in }
        case Self.command: return check(bytes) { (_: RcloneCommandResult) in }
        default:
            // Whatever a refusal looks like, it is one.
            let result: Result<RcloneNothing, ProviderError> = read(bytes, status: 404)
            guard case .failure(let error) = result else {
                Issue.record("a refusal was taken for an answer")
                return false
            }
            #expect(!error.reason.isEmpty)
            return error.kind == .missing
        }
    }

    private static let seeds = [
        list, stat, about, fileSystem, version, stats, command, fault,
    ]

    // MARK: Tests

    @Test func `rclone's own answers are understood`() throws {
        for seed in Self.seeds { #expect(checkAll(seed, Array(seed.utf8)), "\(seed)") }
        let objects = try objects(in: Array(Self.list.utf8)).sorted { $0.name < $1.name }
        #expect(objects.map(\.name.description).count == 3)
        #expect(objects.map(\.kind) == [.file, .directory, .file])
        #expect(objects[0].etag?.description.hasSuffix("-764efa883dda1e11db47671c4a3bbd9e") == true)
    }

    @Test func `a file of unknown size is not taken for an empty one`() throws {
        func answer(_ sizes: [(String, Int)]) -> [UInt8] {
            let texts = sizes.enumerated().map { index, item in
                "{\"Name\":\"\(item.0)\",\"Size\":\(item.1),\"IsDir\":false,"
                    + "\"ModTime\":\"2026-11-21T12:09:5\(index)Z\"}"
            }
            return Array("{\"list\":[\(texts.joined(separator: ","))]}".utf8)
        }
        // One of two objects of one name is enough, whichever is the newer.
        for doc in [[("doc", -1)], [("doc", -1), ("doc", 3)], [("doc", 3), ("doc", -1)]] {
            let bytes = answer(doc + [("a", 0)])
            #expect(try objects(in: bytes).map(\.name.description) == ["a"])
            let unsized = try RcloneListing(body(bytes), meaning).unsized
            #expect(unsized.map(\.description) == ["doc"])
        }
    }

    /// Goal: a listing of any size is paged from a file, and the newest object of a name is shown.
    @Test(arguments: ["", "\n\t"])
    func `a long listing is passed on in pages, each name once`(space: String) throws {
        let count = 5_000
        let items = (0..<count).flatMap { number in
            [(number, 1)] + (number.isMultiple(of: 1_000) ? [(number, 2), (number, 0)] : [])
        }
        let texts = items.shuffled().map { number, second in
            "{\(space)\"Path\":\"d/\\\"]}\(number)\",\"Name\":\"\\\"]}\(number)\",\"Size\":\(second),"
                + "\"IsDir\":false,\(space)\"ModTime\":\"2026-11-21T12:09:5\(second)Z\"}"
        }
        let list = "{\(space)\"list\": [\(space)\(texts.joined(separator: ",\(space)"))]}\(space)"
        let objects = try objects(in: Array(list.utf8))
        #expect(objects.count == count)
        #expect(Set(objects.map(\.name)).count == count)
        #expect(objects.filter { $0.size == 2 }.count == count / 1_000)
        #expect(objects.filter { $0.size == 0 } == [])
    }

    private func body(_ bytes: [UInt8]) throws -> SpooledBody {
        let body = SpooledBody(ofStatus: 200, refusalBytesMax: 0)
        let response = HTTPResponse(status: 200)
        for start in stride(from: 0, to: bytes.count, by: 10_000) {
            try bytes[start..<min(start + 10_000, bytes.count)].withUnsafeBytes {
                try body.receive($0, of: response)
            }
        }
        return body
    }

    private func objects(in bytes: [UInt8]) throws(ProviderError) -> [RemoteObject] {
        let body: SpooledBody
        do { body = try self.body(bytes) } catch { throw ProviderError(.busy, "\(error)") }
        var listing = try RcloneListing(body, meaning)
        var objects: [RemoteObject] = []
        while true {
            let page = try listing.page(entries: 1_000)
            #expect(page.isLast ? page.objects.count <= 1_000 : page.objects.count == 1_000)
            objects += page.objects
            if page.isLast { return objects }
        }
    }

    @Test func `a truncated answer is refused`() {
        for seed in Self.seeds.dropLast() {
            let bytes = Array(seed.utf8)
            for count in 0..<bytes.count { #expect(!checkAll(seed, Array(bytes.prefix(count)))) }
        }
    }

    /// Goal: whatever comes, it is an answer that makes sense or a typed error.
    ///
    /// Method: real answers with bits, bytes, numbers and values changed; see ``Mutator``.
    @Test(arguments: Fuzz.seeds)
    func `damaged answers are understood or refused`(seed: UInt64) {
        var mutator = Mutator(.json, seed: seed)
        let originals = Self.seeds.map { Array($0.utf8) }
        var understood = 0
        for _ in 0..<Fuzz.cases {
            let (index, bytes) = mutator.next(from: originals)
            if checkAll(Self.seeds[index], bytes) { understood += 1 }
        }
        // Neither branch was left out.
        #expect((Fuzz.cases / 50..<Fuzz.cases).contains(understood))
    }

    /// Goal: a directory of hostile names shows none of them as it is.
    @Test func `invalid file names are not shown`() throws {
        let names = [
            "", ".", "..", "a/b", "/", "\\u0000", "\\u2400", String(repeating: "x", count: 256),
        ]
        let items = (names + ["good"]).map {
            "{\"Name\":\"\($0)\",\"Size\":1,\"ModTime\":\"2026-11-21T12:09:51Z\",\"IsDir\":false}"
        }
        let bytes = Array("{\"list\":[\(items.joined(separator: ","))]}".utf8)
        #expect(try objects(in: bytes).map(\.name.description) == ["good"])
    }
}
