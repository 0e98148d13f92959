import Engine
import Host
import Logging
import Testing
import Transport

@testable import ProviderFolder
@testable import ProviderSupport
@testable import Providers

@Suite struct SourceTests {
    @Test(arguments: [
        ("folder:/srv/cloud", "folder:/srv/cloud"),
        ("folder:/srv//cloud/./", "folder:/srv/cloud"),
        ("FOLDER:/srv/cloud", "folder:/srv/cloud"),
        ("folder:/", "folder:/"),
        ("folder:cloud", "folder:/home/me/cloud"),
        ("folder:./a b/../c", "folder:/home/me/a b/../c"),
        ("folder:/100%25/what%3F", "folder:/100%25/what%3F"),
        ("folder:/caf%C3%A9", "folder:/caf\u{e9}"),
        ("folder:/a%FFb", "folder:/a%FFb"),
        ("folder:/a%0Ab", "folder:/a%0Ab"),
        ("folder:/c?latency=20ms&rate=10MiB", "folder:/c?latency=20000us&rate=10485760B"),
        ("folder:/c?rate=512K/s", "folder:/c?rate=524288B"),
        ("folder:/c?latency=200ms", "folder:/c?latency=200000us"),
        ("folder:/c?latency=0", "folder:/c"),
        ("folder:/c?mounts=yes", "folder:/c?mounts=yes"),
        ("folder:/c?mounts=no", "folder:/c"),
        ("webdav://Cloud.Example.org", "webdav+https://cloud.example.org"),
        ("webdav+https://h:443/dav/", "webdav+https://h/dav"),
        ("webdav+http://h:443//dav", "webdav+http://h:443/dav"),
        (
            "WEBDAV+HTTP://127.0.0.1:8080/a b/caf%C3%A9",
            "webdav+http://127.0.0.1:8080/a%20b/caf%C3%A9"
        ),
        ("webdav://[::1]:1/", "webdav+https://[::1]:1"),
        ("rclone:drive:", "rclone:drive:"),
        ("rclone:my drive:a b/c?d%20/", "rclone:my drive:a b/c?d%20"),
        ("rclone:box:/srv//", "rclone:box:/srv"),
        ("rclone:box:/", "rclone:box:/"),
    ])
    func `a source is shown in one way`(text: String, shown: String) throws {
        let source = try Source(parsing: text, workingDirectory: "/home/me")
        #expect(source.description == shown)
        #expect(try Source(parsing: shown).description == shown)
    }

    @Test(arguments: [
        ("foldr:/srv", "did you mean \"folder:\"?"),
        ("/srv/cloud", "for a folder write \"folder:/srv/cloud\""),
        ("nonsense", "a source is written folder:/PATH"),
        ("ftp://host/path", "a source is written folder:/PATH"),
        ("webdav:/dav", "write webdav+https://HOST/PATH"),
        ("webdav:///dav", "is not a host name"),
        ("webdav://a b/dav", "is not a host name"),
        ("webdav://[::1/dav", "is not a host name"),
        ("webdav://host:0/dav", "is not a port"),
        ("webdav://host:x/dav", "is not a port"),
        ("webdav://me:hush@host/dav", "~/.netrc"),
        ("webdav://host/dav?x=1", "%3F"),
        ("webdav://host/dav?names=any", "exact, composition or caseless"),
        ("folder:/a?names=", "exact, composition or caseless"),
        ("webdav://host/dav/../x", "without . and .."),
        ("webdav://host/%zz", "%25"),
        ("webdv://host/dav", "did you mean \"webdav:\"?"),
        ("rclone:remote", "names no remote"),
        ("rclone:", "write rclone:NAME:PATH"),
        ("rclone::s3,secret_access_key=x:bucket", "not a name of a remote"),
        ("rclone:-x:path", "not a name of a remote"),
        ("rclone:remote:a]b", "mount the directory above"),
        ("rclon:remote:a", "did you mean \"rclone:\"?"),
        ("folder:", "names no folder"),
        ("folder:?latency=1s", "names no folder"),
        ("folder:~/cloud", "write \"folder:$HOME/cloud\""),
        ("folder:/a?latncy=1s", "did you mean \"latency\"?"),
        ("folder:/what?", nil),
        ("folder:/what?ever", "written %3F"),
        ("folder:/a?latency=20", "a number and a unit"),
        ("folder:/a?latency=-1s", "a number and a unit"),
        ("folder:/a?rate=0B", "a rate above 0"),
        ("folder:/a?mounts=1", "neither yes nor no"),
        ("folder:/a?rate=1K&rate=2K", "given twice"),
        ("folder:/100%", "%25"),
        ("folder:/100%zz", "%25"),
        ("folder:/a%00b", "%25"),
        ("", "a source is written"),
    ])
    func `a misspelled source says what would be right`(text: String, part: String?) throws {
        guard let part else {
            _ = try Source(parsing: text)
            return
        }
        let error = #expect(throws: SourceError.self) { try Source(parsing: text) }
        #expect(error?.kind == .misspelled)
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("\n") == false)
        #expect(error?.description.contains("hush") == false)
    }

    @Test(arguments: [
        ("webdav+http://me:hush@host/dav", "webdav+http://…@host/dav"),
        ("webdav://hush@host/dav", "webdav://…@host/dav"),
        ("webdav://me:hu/s@h@host/dav", "webdav://…@host/dav"),
        ("s3://b/?endpoint=http://me:hush@h:9&region=r", "s3://b/?endpoint=http://…@h:9&region=r"),
        ("s3://b/p?endpoint=http%3A%2F%2Fme:hush@h", "s3://b/p?endpoint=http%3A%2F%2F…@h"),
        ("webdav+https://host:99/dav", "webdav+https://host:99/dav"),
        ("webdav://host/a@b", "webdav://host/a@b"), ("rclone:a@b:c", "rclone:a@b:c"),
    ])
    func `a source is repeated without what is secret`(text: String, shown: String) {
        #expect(Source.withoutSecrets(text) == shown)
    }

    @Test(arguments: [
        ("SSL certificate problem: certificate has expired", "renewed"),
        ("SSL certificate problem: certificate is not yet valid", "clock"),
        (
            "SSL: no alternative certificate subject name matches target host name 'h'",
            "use the name"
        ),
        ("SSL: certificate subject name (a) does not match target host name 'h'", "use the name"),
        ("error setting certificate file: /a.pem", "PEM"),
        ("SSL certificate problem: self-signed certificate", "use --ca-file"),
    ])
    func `what is wrong with a certificate says what would help`(reason: String, part: String) {
        let error = ProviderError(
            .unreachable, reason,
            cause: TransportError(.tls, attempt: "x", reason: reason))
        #expect(error.advice.remedy.contains(part), "\(error.advice.remedy)")
    }

    @Test func `different folders have different state names, the same folder one`() throws {
        let texts = [
            "/srv/cloud", "/mnt/cloud", "/srv/cloud/", "/srv/cloud?latency=1s", "/srv/Cloud", "/",
            "/srv/a b", "/srv/a_b", "/srv/" + String(repeating: "long", count: 50),
        ]
        let names = try texts.map { try Source(parsing: "folder:" + $0).stateName }
        #expect(names[0] == names[2] && names[0] == names[3])
        #expect(Set(names).count == texts.count - 2)
        #expect(names[0].hasPrefix("folder-cloud-"))
        let safe = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
        for name in names { #expect(name.count <= 60 && name.allSatisfy(safe.contains)) }
    }

    @Test func `different remotes have different state names`() throws {
        let texts = ["drive:", "drive:Photos", "drive:Photos/", "drive:photos", "drive 2:Photos"]
        let names = try texts.map { try Source(parsing: "rclone:" + $0).stateName }
        #expect(names[1] == names[2])
        #expect(Set(names).count == texts.count - 1)
        #expect(names[1].hasPrefix("rclone-drive-Photos-"))
    }

    private var world: ProviderEnvironment {
        ProviderEnvironment(
            clock: SystemClock(), transport: HTTPTransport(), logger: Logger(label: "test"))
    }

    @Test(arguments: [("nothing", "does not exist"), ("file", "not a directory")])
    func `a folder that cannot be opened says what to do`(name: String, part: String) async throws {
        let folder = try TemporaryFolder()
        try folder.write("file", "x")
        let source = try Source(parsing: "folder:\(folder.path(name))")
        let error = await #expect(throws: SourceError.self) {
            _ = try await source.connect(world)
        }
        #expect(error?.kind == .unavailable)
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
    }

    @Test func `a source with latency is throttled`() async throws {
        let folder = try TemporaryFolder()
        let near = try await Source(parsing: "folder:\(folder.path)").connect(world)
        let far = try await Source(parsing: "folder:\(folder.path)?latency=1ms")
            .connect(world)
        #expect(near is FolderProvider)
        #expect(far is ThrottledProvider)
    }

    /// Goal: many requests at first occupy no server that has few processes.
    @Test(arguments: [
        ("webdav://h/dav", 16), ("webdav://h/remote.php/dav/files/me", 8),
        ("webdav://h/remote.php/webdav/a", 8), ("webdav://h/public.php/dav", 8),
        ("s3://bucket", 24), ("rclone:remote:", 8), ("folder:/tmp", 8),
    ])
    func `as many requests start at first as the documents say`(text: String, count: Int) throws {
        #expect(try Source(parsing: text).requestsAtFirst == count)
    }
}
