import Glibc
import Testing

/// A bucket as a folder, as a user and other programs see it.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct S3MountTests {
    @Test func `a link that others point elsewhere points there here, too`() async throws {
        try await ObjectStore.with(.moto) { store in
            func point(_ link: String, to target: String) throws {
                try store.python(
                    """
                    s3.put_object(Bucket=bucket, Key='p/' + arguments[0],
                        Body=arguments[1].encode(), Metadata={'mode': '41471'})
                    """, link, target)
            }
            try point("theirs", to: "first")
            try MountedFolder.with(Self.options(store)) { folder in
                func target(_ link: String) throws -> String {
                    try Program.run("readlink", folder.local(link)).output
                }
                try Program.require("ln", "-s", "first", folder.local("ours"))
                try folder.sync()
                try eventually("it is a link") { try target("theirs") == "first\n" }
                for link in ["theirs", "ours"] {
                    try point(link, to: "second")
                    try eventually("it points elsewhere") { try target(link) == "second\n" }
                }
                try Program.require("mv", folder.local("theirs"), folder.local("moved"))
                try Program.require("rm", folder.local("ours"))
                try folder.sync()
                let keys = try store.python(
                    """
                    print([o['Key'] for o in s3.list_objects_v2(Bucket=bucket)['Contents']])
                    """)
                #expect(keys == "['p/moved']\n")
            }
        }
    }

    /// Listings show links as files, and nobody can take back that a file was opened.
    @Test func `a link that nobody has looked at before is followed at once`() async throws {
        try await ObjectStore.with(.moto) { store in
            let count = 40
            try store.python(
                """
                s3.put_object(Bucket=bucket, Key='p/file', Body=b'its bytes')
                for number in range(\(count)):
                    s3.put_object(Bucket=bucket, Key='p/%d' % number, Body=b'file',
                        Metadata={'mode': '41471'})
                """)
            try MountedFolder.with(Self.options(store)) { folder in
                for number in 0..<count {
                    let bytes = try Files.read(folder.local("\(number)"))
                    #expect(bytes == Array("its bytes".utf8), "link \(number)")
                }
            }
        }
    }

    /// Goal: a name is never answered from before the look that it waits for. Those ahead are looked at
    /// while a program comes to them.
    @Test func `a link is one for a program that reads one after the other`() async throws {
        try await ObjectStore.with(.moto) { store in
            let count = 300
            try store.python(
                """
                for number in range(\(count)):
                    s3.put_object(Bucket=bucket, Key='p/%03d' % number, Body=b'there',
                        Metadata={'mode': '41471'})
                """)
            try MountedFolder.with(Self.options(store)) { folder in
                for number in 0..<count {
                    let name = String(number + 1_000).dropFirst()
                    let target = try Files.linkTarget(folder.local(String(name)))
                    #expect(target == "there", "\(name)")
                }
            }
        }
    }

    /// Goal: the first look at what others wrote tells what they noted of it, also where names were
    /// listed before. Listings of S3 do not tell it.
    @Test(arguments: [false, true])
    func `what rclone and s3fs wrote is right at the first look`(isListed: Bool) async throws {
        try await ObjectStore.with(.seaweedFS) { store in
            try fill(store)
            try MountedFolder.with(Self.options(store)) { folder in
                if isListed {
                    let names = try Program.require("find", folder.point, "-type", "f")
                    #expect(names.split(separator: "\n").count == 4)
                }
                func look(_ name: String) throws -> String {
                    try Program.require("stat", "-c", "%F %a %.9Y %s", folder.local(name))
                }
                #expect(
                    try look("by-rclone") == "regular file 644 981173106.789000000 5\n",
                    "rclone keeps no modes")
                #expect(try look("by-s3fs") == "regular file 640 1234567890.000000000 3\n")
                let target = try Program.require("readlink", folder.local("link"))
                #expect(target == "by-s3fs\n")
                let text = try Program.require("cat", folder.local("other-link"))
                #expect(text == "abc")
            }
        }
    }

    @Test func `what rclone and s3fs wrote is right in the first copy`() async throws {
        try await ObjectStore.with(.seaweedFS) { store in
            try fill(store)
            try MountedFolder.with(Self.options(store)) { folder in
                let copy = "\(folder.base)/copy"
                try Program.require("cp", "-a", folder.point, copy)
                let found = try Program.require(
                    "find", copy, "-mindepth", "1", "-printf", "%f %y %m %T@ %l\\n")
                #expect(
                    found.split(separator: "\n").filter { !$0.contains("link l ") }.sorted() == [
                        "by-rclone f 644 981173106.7890000000 ",
                        "by-s3fs f 640 1234567890.0000000000 ",
                    ])
                #expect(
                    found.split(separator: "\n").filter { $0.contains("link l 777 ") }
                        .allSatisfy { $0.hasSuffix(" by-s3fs") })
                #expect(found.split(separator: "\n").count == 4)
            }
        }
    }

    /// s3fs sets mode and time by a copy of the object onto itself, which keeps its ETag.
    @Test func `what s3fs sets of a known file is seen, and kept by a change here`() async throws {
        try await ObjectStore.with(.seaweedFS) { store in
            try fill(store)
            try MountedFolder.with(Self.options(store)) { folder in
                func look() throws -> String {
                    try Program.require("stat", "-c", "%a %Y", folder.local("by-s3fs"))
                }
                #expect(try look() == "640 1234567890\n")
                try store.withS3FS { point in
                    try Files.setMode(0o600, of: "\(point)/p/by-s3fs")
                    try Program.require("touch", "-d", "@1300000000", "\(point)/p/by-s3fs")
                }
                try eventually("it is seen", within: .seconds(30)) {
                    try look() == "600 1300000000\n"
                }
                try Files.write(Array("changed".utf8), to: folder.local("by-s3fs"))
                try folder.sync()
                let mode = try store.python(
                    """
                    print(s3.head_object(Bucket=bucket, Key='p/by-s3fs')['Metadata']['mode'])
                    """)
                #expect(mode == "0100600\n")
            }
        }
    }

    /// What rclone and s3fs themselves write: two files and two links.
    private func fill(_ store: ObjectStore) throws {
        let file = "\(store.base)/by-rclone"
        try Files.write(Array("12345".utf8), to: file)
        try Program.require("touch", "-d", "2001-02-03T04:05:06.789Z", file)
        try store.rclone("copy", file, "store:\(ObjectStore.bucket)/p")
        try store.withS3FS { point in
            try Files.write(Array("abc".utf8), to: "\(point)/p/by-s3fs")
            try Files.setMode(0o640, of: "\(point)/p/by-s3fs")
            try Program.require("touch", "-d", "@1234567890", "\(point)/p/by-s3fs")
            try Files.link("by-s3fs", at: "\(point)/p/link")
            try Files.link("by-s3fs", at: "\(point)/p/other-link")
        }
    }

    /// Goal: what a daemon began at the store and did not live to hear of costs no room.
    ///
    /// Method: the answer to the beginning of an upload in parts is held back, the daemon killed.
    @Test func `an upload that a killed daemon has begun is not left at the store`() async throws {
        try await ObjectStore.with(.seaweedFS) { store in
            func uploads() throws -> Set<Substring> {
                let text = try store.python(
                    """
                    for upload in s3.list_multipart_uploads(Bucket=bucket).get('Uploads', []):
                        print(upload['UploadId'])
                    """)
                return Set(text.split(separator: "\n"))
            }
            let bytes = [UInt8](repeating: 5, count: 20 << 20)
            try Relay.with(store.port) { relay in
                var options = Self.options(store)
                options.otherSource = store.source("p", port: relay.port)
                try MountedFolder.with(options) { folder in
                    try store.python("s3.create_multipart_upload(Bucket=bucket, Key='p/movie')")
                    let theirs = try uploads()
                    // What the store can do is tried out before the first change.
                    try Files.write([1], to: folder.local("first"))
                    try folder.sync()
                    relay.hold(.fromServer, of: "POST")
                    try Files.write(bytes, to: folder.local("movie"))
                    #expect(relay.waitForHold())
                    try eventually("it was begun", within: .seconds(30)) {
                        try uploads().count == 2
                    }
                    try folder.killDaemon()
                    relay.cut()
                    try relay.open()
                    try folder.remount()
                    try folder.sync()
                    #expect(try uploads() == theirs)
                    #expect(theirs.count == 1)
                    let stored = "\(folder.base)/stored"
                    try store.python(
                        "s3.download_file(bucket, 'p/movie', arguments[0])", stored)
                    #expect(try Files.read(stored) == bytes)
                }
            }
        }
    }

    /// Goal: a store like Amazon's gives the copy of a file that was sent in parts another ETag; here it is
    /// the same file.
    @Test func `a file sent in parts keeps its identity when its folder is renamed`() async throws {
        try await ObjectStore.with(.moto) { store in
            func etag(_ key: String) throws -> String {
                try store.python(
                    "print(s3.head_object(Bucket=bucket, Key='p/' + arguments[0])['ETag'])", key)
            }
            try MountedFolder.with(Self.options(store)) { folder in
                try Files.makeDirectory(folder.local("a"))
                try Files.makeDirectory(folder.local("a/sub"))
                try Files.write(
                    [UInt8](repeating: 7, count: 17 << 20), to: folder.local("a/sub/film"))
                try folder.sync()
                let (number, first) = (
                    try Files.status(folder.local("a/sub/film")).st_ino, try etag("a/sub/film")
                )
                try Files.rename(folder.local("a"), to: folder.local("b"))
                try folder.sync()
                #expect(try etag("b/sub/film") != first, "that is what the test is about")
                // The listing that shows this file shows that one.
                try store.python("s3.put_object(Bucket=bucket, Key='p/b/sub/beside', Body=b'1')")
                try eventually("the folder was listed") {
                    try Files.names(in: folder.local("b/sub")) == ["beside", "film"]
                }
                #expect(try Files.status(folder.local("b/sub/film")).st_ino == number)
                #expect(try folder.state(of: "b/sub/film") == "local")

                try Files.rename(folder.local("b"), to: folder.local("c"))
                let file = try OpenFile(folder.local("c/sub/film"), O_RDWR)
                try file.write([1], at: 5)
                try file.close()
                try folder.sync()
                #expect(
                    try Files.names(in: folder.local("c/sub")) == ["beside", "film"],
                    "there is no conflict")
                #expect(
                    try store.python(
                        """
                        print(s3.get_object(Bucket=bucket, Key='p/c/sub/film')['Body'].read(7))
                        """) == "b'\\x07\\x07\\x07\\x07\\x07\\x01\\x07'\n")
                #expect(try folder.report().conflicts.isEmpty)
            }
        }
    }

    /// Goal: what others made under keys that are no paths can be worked with like anything else.
    ///
    /// Method: every object is edited, cut, renamed and removed, and the bucket looked at in between.
    @Test(arguments: [ObjectStore.Kind.moto, .seaweedFS])
    func `objects with odd keys are edited, renamed and removed`(
        kind: ObjectStore.Kind
    ) async throws {
        try await ObjectStore.with(kind) { store in
            let odd = kind == .moto ? "['d/' + 'l' * 300, 'a//b', 'z/../up', 'z/.', 'n\\0']" : "[]"
            let count = kind == .moto ? 9 : 4
            try store.python(
                """
                for key in ['both', 'both/x', '%2F%', 'c\\x01\\x7f'] + \(odd):
                    s3.put_object(Bucket=bucket, Key='p/' + key, Body=key.encode())
                """)
            func stored() throws -> [Substring] {
                try store.python(
                    """
                    for object in s3.list_objects_v2(Bucket=bucket).get('Contents', []):
                        key = object['Key']
                        if not key.endswith('/'):
                            body = s3.get_object(Bucket=bucket, Key=key)['Body'].read()
                            print(len(key), body.decode())
                    """
                ).split(separator: "\n")
            }
            try MountedFolder.with(Self.options(store)) { folder in
                func files() throws -> [String] {
                    try Program.require("find", folder.point, "-type", "f", "-print0")
                        .split(separator: "\0").map(String.init)
                }
                let found = try files()
                #expect(found.count == count)
                for file in found { try Files.write(Array("edited".utf8), to: file) }
                try folder.sync()
                #expect(try stored().count == count)
                #expect(try stored().allSatisfy { $0.hasSuffix(" edited") })
                for file in found { try Program.require("truncate", "-s", "2", file) }
                try folder.sync()
                #expect(try stored().allSatisfy { $0.hasSuffix(" ed") })
                for (number, file) in found.enumerated() {
                    try Program.require("mv", file, folder.local("name-\(number)"))
                }
                try folder.sync()
                #expect(
                    try stored() == (0..<count).map { _ in "8 ed" }, "they have names like others")
                for file in try files() { try Files.unlink(file) }
                try folder.sync()
                #expect(try stored() == [])
                #expect(try folder.report().counts.failed == 0)
                #expect(try folder.report().conflicts.isEmpty)
            }
        }
    }

    private static func options(_ store: ObjectStore) -> MountedFolder.Options {
        var options = MountedFolder.Options()
        options.otherSource = store.source("p")
        options.mount = ["--refresh", "1s"]
        options.environment = store.environment
        return options
    }
}
