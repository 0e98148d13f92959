import Engine
import Testing
import Transport

@testable import ProviderS3
@testable import ProviderSupport

@Suite struct S3ElementTests {
    private static let listing = """
        <?xml version="1.0" encoding="UTF-8"?>
        <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
          <Name>bucket</Name><Prefix>p%2F</Prefix><EncodingType>url</EncodingType>
          <IsTruncated>true</IsTruncated><NextContinuationToken>1/x&amp;y==</NextContinuationToken>
          <Contents><Key>p/a+b%2B%0A</Key><LastModified>2009-10-12T17:50:30.000Z</LastModified>
            <ETag>&quot;fba9dede5f27731c9771645a39863328&quot;</ETag><Size>434234</Size></Contents>
          <CommonPrefixes><Prefix>p/c/</Prefix></CommonPrefixes>
        </ListBucketResult>
        """

    private func listing(_ text: String) throws -> S3Listing {
        try S3Listing(S3Element(parsing: Array(text.utf8)))
    }

    @Test func `a listing is parsed`() throws {
        let page = try listing(Self.listing)
        #expect(page.next == "1/x&y==")
        #expect(page.prefixes == [S3Key("p/c/")])
        let object = try #require(page.objects.first)
        #expect(object.key == S3Key("p/a b+\n"))
        #expect(object.etag == ETag("fba9dede5f27731c9771645a39863328"))
        #expect(object.size == 434_234)
        #expect(object.modified == Timestamp(seconds: 1_255_369_830))
    }

    @Test(arguments: [
        ("434234", "-1"), ("434234", "99999999999999999999"), ("434234", "9223372036854775808"),
        ("p/a+b%2B%0A", "p/%"), ("p/a+b%2B%0A", "p/%zz"), ("1/x&amp;y==", ""),
        ("<Key>p/a+b%2B%0A</Key>", ""), ("ListBucketResult", "Error"),
    ])
    func `an invalid listing is an error`(part: String, other: String) {
        let text = Self.listing.replacing(part, with: other)
        #expect(throws: XMLError.self) { try listing(text) }
    }

    @Test func `an answer that is not plain XML is an error`() {
        let laughs = """
            <?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>
            <ListBucketResult><Name>&b;</Name></ListBucketResult>
            """
        let external = """
            <!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><Error><Code>&f;</Code></Error>
            """
        let deep = String(repeating: "<a>", count: 50_000)
        let wide = "<a>" + String(repeating: "<b/>", count: 200_000) + "</a>"
        let otherEncoding = "<?xml version=\"1.0\" encoding=\"UTF-16\"?><a/>"
        for text in [
            "", "x", "<a>", "<a></b>", laughs, external, deep, wide, otherEncoding, "<a/>\0",
        ] {
            #expect(throws: XMLError.self, "\(text.prefix(60))") {
                try S3Element(parsing: Array(text.utf8))
            }
        }
        #expect(throws: XMLError.self) {
            try S3Element(parsing: Array("<a>".utf8) + [0xFF, 0xFE] + Array("</a>".utf8))
        }
        #expect(throws: XMLError.self) {
            try S3Element(parsing: [UInt8](repeating: 0x20, count: S3Element.bytesMax + 1))
        }
    }

    /// Foundation's parser ends the process over an instruction without data.
    @Test func `comments and the like are skipped`() throws {
        let text = "<?xml version=\"1.0\"?><?x?><a><!-- c --><?x?><b>1<![CDATA[<2]]></b></a><?x?>"
        let element = try S3Element(parsing: Array(text.utf8))
        #expect(element.text("b") == "1<2")
    }

    @Test func `an answer that ends early is an error wherever it ends`() {
        let bytes = Array(Self.listing.utf8)
        for count in stride(from: 0, to: bytes.count - 1, by: 7) {
            #expect(throws: XMLError.self, "\(count) bytes") {
                try S3Listing(S3Element(parsing: Array(bytes.prefix(count))))
            }
        }
    }
}

@Suite struct S3MetadataTests {
    @Test func `attributes round-trip through the headers`() {
        for nanoseconds in [0, 1, 999_999_999, 1_600_000_000_123_456_789, -1, -1_500_000_000]
            as [Int64]
        {
            let attributes = ObjectAttributes(
                modified: Timestamp(nanoseconds: nanoseconds), mode: 0o4640)
            let written = S3Metadata(attributes: attributes, kind: .file)
            let values = written.headers.map { (String($0.name.dropFirst(11)), $0.value) }
            let read = S3Metadata(Dictionary(uniqueKeysWithValues: values))
            #expect(read.modified == attributes.modified)
            #expect(read.mode == 0o4640)
            #expect(!read.isSymlink)
        }
    }

    @Test func `headers of s3fs and rclone are read`() {
        let s3fs = S3Metadata(["mode": "33188", "mtime": "1600000000", "uid": "0", "gid": "0"])
        #expect(s3fs.modified == Timestamp(seconds: 1_600_000_000))
        #expect(s3fs.mode == 0o644)
        let rclone = S3Metadata(["mtime": "1600000000.123456789"])
        #expect(rclone.modified == Timestamp(seconds: 1_600_000_000, nanoseconds: 123_456_789))
        #expect(rclone.mode == nil)
        #expect(S3Metadata(["mode": "41471"]).isSymlink)
        for text in ["", "x", "1.x", ".5", "1e9", "--1", "99999999999999999999"] {
            #expect(S3Metadata(["mtime": text]).modified == nil, "\(text)")
        }
    }

    /// A zero in front has s3fs read octal, and rclone reads nothing else. Taken for decimal, some
    /// modes of directories would be those of links: 41777 is 0121461.
    @Test func `modes are written so that s3fs and rclone read them alike`() {
        for (kind, mode, text) in [
            (FileKind.file, UInt16(0o751), "0100751"), (.file, 0o4640, "0104640"),
            (.symlink, 0o777, "0120777"), (.directory, 0o755, "040755"),
            (.directory, 0o1777, "041777"),
        ] {
            let attributes = ObjectAttributes(modified: Timestamp(seconds: 1), mode: mode)
            let metadata = S3Metadata(attributes: attributes, kind: kind)
            #expect(metadata.values["mode"] == text)
            #expect(metadata.mode == mode)
            #expect(metadata.isSymlink == (kind == .symlink))
            var fromType = S3Metadata()
            fromType.add(contentType: metadata.directoryContentType)
            #expect(fromType.mode == mode)
        }
    }

    /// Goal: a file with many entries of other programs can be written and moved.
    @Test func `a nonce does not make the metadata too large`() {
        let nonce = WriteNonce("0123456789abcdef")
        for (bytes, isKept) in [(1_000, true), (1_900, true), (2_000, false), (2_030, false)] {
            var metadata = S3Metadata(["other": String(repeating: "x", count: bytes)])
            metadata.setNonce(nonce)
            #expect(metadata.nonce == (isKept ? nonce : nil), "\(bytes)")
            metadata.setNonce(nil)
            #expect(metadata.values.count == 1)
        }
    }

    @Test func `extended attributes are in the header of s3fs`() {
        // As s3fs 1.90 writes them.
        let text = "%7B%22user.a%22%3A%22MQ%3D%3D%22%2C%22user.b%22%3A%22%22%7D"
        var attributes = ExtendedAttributes()
        attributes[Array("user.a".utf8)] = Array("1".utf8)
        attributes[Array("user.b".utf8)] = []
        #expect(S3Metadata(["xattr": text]).extendedAttributes == attributes)
        #expect(S3Attributes.text(attributes, replacing: nil) == text)
        for text in ["", "x", "%7B%7D", "%7B%22user.a%22%7D", "%7B%22user.a%22%3A%22%2A%22%7D"] {
            #expect(S3Metadata(["xattr": text]).extendedAttributes.isEmpty, "\(text)")
        }
    }

    @Test func `extended attributes round-trip, and those of other programs stay`() {
        let acl = "%7B%22system.posix_acl_access%22%3A%22AgAA%22%7D"
        var metadata = S3Metadata(["xattr": acl])
        #expect(metadata.extendedAttributes.isEmpty)
        var attributes = ObjectAttributes(modified: Timestamp(seconds: 1), mode: 0o644)
        attributes.extendedAttributes[Array("user.a,b:\"{c}%41".utf8)] = Array(0...255)
        attributes.extendedAttributes[Array("user.".utf8) + [0xFF, 0x25]] = []
        metadata.set(attributes, kind: .file)
        #expect(metadata.extendedAttributes == attributes.extendedAttributes)
        #expect(metadata.values["xattr"]?.contains("posix_acl_access") == true)
        attributes.extendedAttributes = ExtendedAttributes()
        metadata.set(attributes, kind: .file)
        #expect(metadata.values["xattr"] == acl)
    }

    @Test func `metadata of other programs stays`() {
        var metadata = S3Metadata(["uid": "1000", "md5chksum": "x"])
        metadata.set(ObjectAttributes(modified: Timestamp(seconds: 1), mode: 0o600), kind: .file)
        #expect(metadata.values["uid"] == "1000")
        #expect(metadata.values["md5chksum"] == "x")
    }

    @Test func `the media type of a directory repeats metadata that headers may lose`() {
        let attributes = ObjectAttributes(
            modified: Timestamp(seconds: 5, nanoseconds: 6), mode: 0o750,
            extendedAttributes: S3Attributes.parse("%7B%22user.a%22%3A%22MQ%3D%3D%22%7D"))
        let type = S3Metadata(attributes: attributes, kind: .directory).directoryContentType
        var read = S3Metadata()
        read.add(contentType: type)
        #expect(read.modified == attributes.modified)
        #expect(read.mode == 0o750)
        #expect(read.extendedAttributes == attributes.extendedAttributes)
    }

    @Test func `a link's target is any bytes`() {
        let target: [UInt8] = [0x2E, 0x2E, 0x2F, 0xFF, 0x20]
        let metadata = S3Metadata(
            attributes: ObjectAttributes(modified: Timestamp(seconds: 1), mode: 0o777),
            kind: .symlink, target: target)
        #expect(metadata.isSymlink)
        #expect(metadata.target == target)
    }
}

@Suite struct S3RefusalTests {
    @Test(
        arguments: [
            (403, "InvalidAccessKeyId", .unauthorized),
            (403, "SignatureDoesNotMatch", .unauthorized),
            (400, "ExpiredToken", .unauthorized), (403, "AccessDenied", .denied),
            (403, "", .denied),
            (503, "SlowDown", .busy), (429, "", .busy), (500, "InternalError", .unreachable),
            (502, "", .unreachable), (507, "", .full), (400, "QuotaExceeded", .full),
            (412, "PreconditionFailed", .changed), (412, "", .changed),
            (404, "NoSuchKey", .missing),
            (404, "NoSuchBucket", .unreachable), (400, "KeyTooLongError", .unsupported),
            (400, "BadDigest", .corrupt), (501, "NotImplemented", .unsupported),
            (301, "", .unreachable),
        ] as [(Int, String, ProviderError.Kind)])
    func `refusals distinguish passing errors from permanent ones`(
        status: Int, code: String, kind: ProviderError.Kind
    ) {
        #expect(S3Refusal(status: status, code: code).kind == kind)
    }

    @Test func `the store's message is shown, cut to a line`() {
        let words = "Slow\ndown " + String(repeating: "please ", count: 200)
        let body = "<Error><Code>SlowDown</Code><Message>\(words)</Message></Error>"
        let refusal = S3Refusal(
            HTTPResponse(status: 503, headers: HTTPHeaders([("Retry-After", "7")])),
            body: Array(body.utf8), now: Timestamp(seconds: 0))
        let error = refusal.error()
        #expect(error.reason.hasPrefix("Slow down please"))
        #expect(error.reason.count < 400)
        #expect(error.retryAfter == .seconds(7))
    }
}
