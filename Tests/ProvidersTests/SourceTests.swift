import Engine
import Host
import Providers
import Testing

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
        ("folder:/c?latency=0", "folder:/c"),
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
        ("webdav+https://host/dav", "not in this version"),
        ("s3://bucket/prefix?region=x", "not in this version"),
        ("rclone:remote:path", "not in this version"),
        ("folder:", "names no folder"),
        ("folder:?latency=1s", "names no folder"),
        ("folder:~/cloud", "write \"folder:$HOME/cloud\""),
        ("folder:/a?latncy=1s", "did you mean \"latency\"?"),
        ("folder:/what?", nil),
        ("folder:/what?ever", "written %3F"),
        ("folder:/a?latency=20", "a number and a unit"),
        ("folder:/a?latency=-1s", "a number and a unit"),
        ("folder:/a?rate=0B", "a rate above 0"),
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

    @Test(arguments: [("nothing", "does not exist"), ("file", "not a directory")])
    func `a folder that cannot be opened says what to do`(name: String, part: String) async throws {
        let folder = try TemporaryFolder()
        try folder.write("file", "x")
        let source = try Source(parsing: "folder:\(folder.path(name))")
        let error = await #expect(throws: SourceError.self) {
            _ = try await source.connect(clock: SystemClock())
        }
        #expect(error?.kind == .unavailable)
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
    }

    @Test func `a source with latency is far away`() async throws {
        let folder = try TemporaryFolder()
        let near = try await Source(parsing: "folder:\(folder.path)").connect(clock: SystemClock())
        let far = try await Source(parsing: "folder:\(folder.path)?latency=1ms")
            .connect(clock: SystemClock())
        #expect(near is FolderProvider)
        #expect(far is FarAwayProvider)
    }
}
