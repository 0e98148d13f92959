import Engine
import ProviderSupport
import SystemCalls
import Testing

@testable import ProviderS3

/// Known answers: the examples of "Authenticating Requests: Using the Authorization Header" in the
/// S3 documentation, and cases of AWS's published test suite for Signature Version 4.
@Suite struct S3SignerTests {
    private static let example = S3Signer(
        accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        region: "us-east-1")
    private static let exampleTime = Timestamp(seconds: 1_369_353_600)
    private static let suite = S3Signer(
        accessKey: "AKIDEXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        region: "us-east-1", service: "service")
    private static let suiteTime = Timestamp(seconds: 1_440_938_160)

    private func exampleRequest(
        _ method: String, _ path: String, query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)] = [], hash: String = S3Signer.emptyHash
    ) -> S3Signer.Request {
        S3Signer.Request(
            method: method, path: path, query: query,
            headers: headers + [
                ("Host", "examplebucket.s3.amazonaws.com"), ("x-amz-content-sha256", hash),
                ("x-amz-date", "20130524T000000Z"),
            ], payloadHash: hash)
    }

    private func signature(_ request: S3Signer.Request) -> String {
        let signer = Self.example
        return signer.signature(
            of: signer.stringToSign(request, at: Self.exampleTime), at: Self.exampleTime)
    }

    @Test func `the documented GET of a range is signed as documented`() {
        let request = exampleRequest("GET", "/test.txt", headers: [("Range", "bytes=0-9")])
        #expect(
            Self.example.canonicalRequest(request) == """
                GET
                /test.txt

                host:examplebucket.s3.amazonaws.com
                range:bytes=0-9
                x-amz-content-sha256:\(S3Signer.emptyHash)
                x-amz-date:20130524T000000Z

                host;range;x-amz-content-sha256;x-amz-date
                \(S3Signer.emptyHash)
                """)
        #expect(
            Self.example.stringToSign(request, at: Self.exampleTime) == """
                AWS4-HMAC-SHA256
                20130524T000000Z
                20130524/us-east-1/s3/aws4_request
                7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972
                """)
        let expected = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        #expect(signature(request) == expected)
        #expect(
            Self.example.authorization(request, at: Self.exampleTime)
                == "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/"
                + "aws4_request,SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
                + "Signature=\(expected)")
    }

    @Test func `a kept key is used for its secret, region and day only`() {
        let keys = S3SigningKeys()
        let time = Self.exampleTime
        for days in [0, 0, 1, 0] {
            for (secret, region) in [("a", "r"), ("a", "r"), ("b", "r"), ("b", "s"), ("a", "r")] {
                let signer = S3Signer(accessKey: "k", secretKey: secret, region: region)
                var keeping = signer
                keeping.keys = keys
                let later = Timestamp(seconds: time.seconds + Int64(days) * 86_400)
                let expected = signer.signature(of: "text", at: later)
                #expect(keeping.signature(of: "text", at: later) == expected)
            }
        }
    }

    @Test func `the documented PUT is signed as documented`() {
        let hash = S3Signer.hash(Array("Welcome to Amazon S3.".utf8))
        let request = exampleRequest(
            "PUT", "/" + PercentCoding.encode("test$file.text"),
            headers: [
                ("Date", "Fri, 24 May 2013 00:00:00 GMT"),
                ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
            ], hash: hash)
        #expect(
            signature(request)
                == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
    }

    @Test(arguments: [
        (
            [(name: "lifecycle", value: "")],
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
        ),
        (
            [(name: "prefix", value: "J"), (name: "max-keys", value: "2")],
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
        ),
    ])
    func `documented requests with a query are signed as documented`(
        query: [(name: String, value: String)], expected: String
    ) {
        #expect(signature(exampleRequest("GET", "/", query: query)) == expected)
    }

    @Test(
        arguments: [
            ("GET", [], [], "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            ("POST", [], [], "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
            (
                "GET", [("Param2", "value2"), ("Param1", "value1")], [],
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
            ),
            (
                "GET", [("\u{1234}", "bar")], [],
                "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"
            ),
            (
                "GET", [], [("My-Header1", " value1"), ("My-Header2", " \"a   b   c\"")],
                "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"
            ),
        ] as [(String, [(String, String)], [(String, String)], String)])
    func `cases of the published suite give the published signatures`(
        method: String, query: [(String, String)], headers: [(String, String)], expected: String
    ) {
        let request = S3Signer.Request(
            method: method, path: "/", query: query.map { (name: $0.0, value: $0.1) },
            headers: headers.map { (name: $0.0, value: $0.1) } + [
                ("Host", "example.amazonaws.com"), ("X-Amz-Date", "20150830T123600Z"),
            ], payloadHash: S3Signer.emptyHash)
        let text = Self.suite.stringToSign(request, at: Self.suiteTime)
        #expect(Self.suite.signature(of: text, at: Self.suiteTime) == expected)
    }

    @Test(
        arguments: [
            (0, "19700101T000000Z"), (951_782_399, "20000228T235959Z"),
            (951_868_800, "20000301T000000Z"), (951_782_400, "20000229T000000Z"),
            (4_107_542_399, "21000228T235959Z"), (4_107_542_400, "21000301T000000Z"),
        ] as [(Int64, String)])
    func `dates follow the calendar`(seconds: Int64, text: String) {
        #expect(S3Signer.date(Timestamp(seconds: seconds)) == text)
    }

    @Test func `times in answers are read to the nanosecond`() {
        #expect(
            Timestamp(rfc3339: "2009-10-12T17:50:30.000Z") == Timestamp(seconds: 1_255_369_830))
        #expect(
            Timestamp(rfc3339: "2000-02-29T00:00:00.25Z")
                == Timestamp(seconds: 951_782_400, nanoseconds: 250_000_000))
        for text in [
            "", "yesterday", "2009-13-12T17:50:30Z", "2009-10-12T17:50", "2009/10/12 17:50:30",
        ] {
            #expect(Timestamp(rfc3339: text) == nil, "\(text)")
        }
    }
}
