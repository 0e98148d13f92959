import Engine
import Testing

@testable import ProviderRclone
@testable import ProviderSupport

@Suite struct RcloneTests {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0),
        ("2020-09-13T12:26:40.123456789Z", 1_600_000_000_123_456_789),
        ("2020-09-13T14:26:40.5+02:00", 1_600_000_000_500_000_000),
        ("2020-09-13T07:56:40-04:30", 1_600_000_000_000_000_000),
        ("2000-02-29T23:59:59.000000001Z", 951_868_799_000_000_001),
        ("1969-12-31T23:59:59.9Z", -100_000_000),
    ])
    func `a time round-trips to the nanosecond`(text: String, expected: Int64) {
        let time = Timestamp(rfc3339: text)
        #expect(time?.nanoseconds == expected)
        let written = Timestamp(nanoseconds: expected).rfc3339
        #expect(Timestamp(rfc3339: written + "Z")?.nanoseconds == expected)
    }

    @Test(arguments: ["", "2020", "yesterday at about noon, Z"])
    func `invalid times are refused`(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test(arguments: [
        ("object not found", ProviderError.Kind.missing),
        ("error in ListJSON: directory not found", .missing),
        ("remove /x: directory not empty", .notEmpty),
        ("is a directory not a file", .wrongKind),
        ("write /x: no space left on device", .full),
        ("googleapi: Error 403: storageQuotaExceeded", .full),
        ("googleapi: Error 403: User Rate Limit Exceeded", .busy),
        ("SlowDown: Please reduce your request rate", .busy),
        ("couldn't fetch token: invalid_grant", .unauthorized),
        ("open /x: permission denied", .denied),
        ("open /x: file name too long", .unsupported),
        ("dial tcp: connection refused", .unreachable),
        ("something new", .unreachable),
    ])
    func `rclone's words are understood`(reason: String, kind: ProviderError.Kind) {
        #expect(RcloneFailure.error(reason: reason).kind == kind)
    }

    @Test func `a file's name says nothing about an error`() {
        let error = RcloneFailure.error(
            reason: "open /srv/quota exceeded: file name too long",
            names: ["quota exceeded", "srv"])
        #expect(error.kind == .unsupported)
        #expect(error.reason == "open /srv/quota exceeded: file name too long")
    }

    @Test(arguments: [
        ("plain", "plain"), ("a\nb", "a\u{240A}b"), ("\u{7F}", "\u{2421}"),
        ("caf\u{e9} \u{1F426}", "caf\u{e9} \u{1F426}"), ("a\u{240A}", nil as String?),
        (".apus-directory", nil),
    ])
    func `a name round-trips through rclone's form`(name: String, text: String?) throws {
        let name = try #require(FileName(name))
        #expect(RcloneName.encode(name) == text)
        if let text { #expect(RcloneName.decode(text) == name) }
    }

    @Test func `only names of our own are hidden`() {
        for name in [
            RcloneHidden.stagedName(), RcloneHidden.marker, "a.b.0123abcd.apus-part",
        ] { #expect(RcloneHidden.isHidden(name)) }
        for name in [
            "a", ".apus-upload-1", ".apus-upload-0123456789abcdez", "a.apus-part",
            "a.0123abcg.apus-part", ".apus-directory.txt",
        ] { #expect(!RcloneHidden.isHidden(name)) }
    }

    @Test func `settings that would change the meaning of a copy are not passed to rclone`() throws
    {
        let program = try RcloneProgram.find(
            in: [
                "PATH": "/nonexistent:/usr/bin", "RCLONE_IGNORE_EXISTING": "true",
                "RCLONE_EXCLUDE": "*", "RCLONE_RC_PASS": "other", "RCLONE_CONFIG": "/c",
                "RCLONE_CONFIG_X_TYPE": "s3", "RCLONE_BWLIMIT": "1M", "HOME": "/h",
            ], named: "env")
        #expect(
            program.environment == [
                "HOME=/h", "PATH=/nonexistent:/usr/bin", "RCLONE_BWLIMIT=1M", "RCLONE_CONFIG=/c",
                "RCLONE_CONFIG_X_TYPE=s3",
            ])
    }

    @Test func `a moved file is recognised by all known properties`() throws {
        func object(_ etag: String, _ size: UInt64) throws -> RemoteObject {
            RemoteObject(
                name: try #require(FileName("a")), kind: .file, etag: ETag(etag), size: size,
                modified: Timestamp(seconds: 0), mode: nil)
        }
        let before = try object("3-1000-id-1-abcd", 3)
        for same in [try object("3-2000-id-2-abcd", 3), try object("3-1000--", 3)] {
            #expect(RcloneMeaning.mayHoldSame(same, before))
        }
        for other in [try object("3-1000-id-1-abce", 3), try object("4-1000-id-1-abcd", 4)] {
            #expect(!RcloneMeaning.mayHoldSame(other, before))
        }
    }

    @Test func `without rclone, the error says how to install it`() {
        let error = #expect(throws: SourceError.self) {
            try RcloneProgram.find(in: ["PATH": "/nonexistent"])
        }
        #expect(error?.kind == .unavailable)
        #expect(error?.remedy.contains("https://rclone.org/install/") == true)
    }

    /// As `total`, `used` and `free` of an answer, and what is made of them.
    @Test(
        arguments: [
            // A disk that keeps 20 back for root.
            ((100, 30, 50), StorageSpace(totalBytes: 100, freeBytes: 70, availableBytes: 50)),
            ((100, 30, 70), StorageSpace(totalBytes: 100, availableBytes: 70)),
            ((100, 30, nil), StorageSpace(totalBytes: 100, availableBytes: 70)),
            ((100, nil, 50), StorageSpace(totalBytes: 100, availableBytes: 50)),
            ((nil, 30, 50), StorageSpace(totalBytes: 80, availableBytes: 50)),
            ((100, nil, nil), StorageSpace(totalBytes: 100, availableBytes: 100)),
            // What makes no sense.
            ((100, 120, 50), StorageSpace(totalBytes: 100, availableBytes: 50)),
            ((100, 30, 150), StorageSpace(totalBytes: 100, availableBytes: 100)),
            ((nil, nil, nil), nil),
        ] as [((Int64?, Int64?, Int64?), StorageSpace?)])
    func `the space is computed from the values that a remote tells`(
        told: (total: Int64?, used: Int64?, free: Int64?), space: StorageSpace?
    ) {
        let about = RcloneAbout(total: told.total, used: told.used, free: told.free)
        #expect(RcloneMeaning.space(about) == space)
    }

    @Test func `changes of one key exclude each other, in order`() async throws {
        let locks = KeyedMutex()
        let a = ObjectKey([try #require(FileName("a"))])
        let b = ObjectKey([try #require(FileName("b"))])
        try await confirmation(expectedCount: 30) { isDone in
            try await withThrowingTaskGroup(of: Void.self) { group in
                let inside = RcloneTestGauge()
                for index in 0..<30 {
                    group.addTask {
                        let keys: Set<ObjectKey> = index % 3 == 0 ? [a, b] : [a]
                        try await locks.with(keys) { () async throws(ProviderError) in
                            #expect(await inside.enter() == 1)
                            await Task.yield()
                            await inside.leave()
                        }
                        isDone()
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}

private actor RcloneTestGauge {
    private var count = 0

    func enter() -> Int {
        count += 1
        return count
    }

    func leave() { count -= 1 }
}
