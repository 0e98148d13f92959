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

    /// Listings do not tell what others noted of an object, so the first look is answered from less.
    @Test func `what others noted of a file shows soon after the first look`() async throws {
        try await ObjectStore.with(.moto) { store in
            let count = 40
            try store.python(
                """
                for number in range(\(count)):
                    s3.put_object(Bucket=bucket, Key='p/%d' % number, Body=b'x',
                        Metadata={'mode': '33152', 'mtime': '1234567890.5'})
                """)
            try MountedFolder.with(Self.options(store)) { folder in
                try eventually("modes and times are theirs") {
                    let found = try Program.require(
                        "sh", "-c", "stat -c '%a %.1Y' \(folder.point)/*")
                    return found.split(separator: "\n")
                        == Array(repeating: "600 1234567890.5", count: count)
                }
            }
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

    private static func options(_ store: ObjectStore) -> MountedFolder.Options {
        var options = MountedFolder.Options()
        options.otherSource = store.source("p")
        options.mount = ["--refresh", "1s"]
        options.environment = store.environment
        return options
    }
}
