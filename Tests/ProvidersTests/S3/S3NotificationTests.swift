import Engine
import Testing

@testable import ProviderS3
@testable import ProviderSupport

@Suite struct S3NotificationTests {
    private func changes(_ text: String) throws -> [S3Notification.Change] {
        try S3Notification(parsing: Array(text.utf8), bucket: "photos").changes
    }

    private func change(_ key: String, isRemoval: Bool = false) -> S3Notification.Change {
        S3Notification.Change(key: S3Key(key), isRemoval: isRemoval)
    }

    private static func record(_ event: String, _ key: String, bucket: String = "photos") -> String
    {
        #"{"eventVersion":"2.1","eventSource":"aws:s3","eventName":"\#(event)","s3":{"bucket":"#
            + #"{"name":"\#(bucket)","arn":"arn:aws:s3:::\#(bucket)"},"object":{"key":"\#(key)","#
            + #""size":1,"eTag":"d41d8cd98f00b204e9800998ecf8427e","sequencer":"0A1B"}}}"#
    }

    @Test func `event messages of S3 name changed objects`() throws {
        let text =
            #"{"Records":["#
            + [
                Self.record("ObjectCreated:Put", "a/b+c%2Bd.jpg"),
                Self.record("ObjectRemoved:Delete", "a/gone"),
                Self.record("LifecycleExpiration:Delete", "a/old"),
                Self.record("ObjectCreated:Put", "a/x", bucket: "other"),
            ].joined(separator: ",") + "]}"
        #expect(
            try changes(text) == [
                change("a/b c+d.jpg"), change("a/gone", isRemoval: true),
                change("a/old", isRemoval: true),
            ])
    }

    /// MinIO puts more beside the records.
    @Test func `members that are not known are left alone`() throws {
        let text =
            #"{"EventName":"s3:ObjectCreated:Put","Key":"photos/a","Records":["#
            + Self.record("s3:ObjectCreated:Put", "a") + "]}"
        #expect(try changes(text) == [change("a")])
    }

    @Test func `messages of SNS have them in a text`() throws {
        let inner =
            #"{\"Records\":["#
            + Self.record("ObjectCreated:Put", "a").replacing("\"", with: "\\\"") + "]}"
        let text = #"{"Type":"Notification","MessageId":"1","Message":"\#(inner)"}"#
        #expect(try changes(text) == [change("a")])
        #expect(throws: NotificationError.needsConfirmation(url: "https://sns.example/c?x=1")) {
            try changes(
                #"{"Type":"SubscriptionConfirmation","Message":"You have chosen","#
                    + #""SubscribeURL":"https://sns.example/c?x=1"}"#)
        }
        #expect(throws: NotificationError.unknownForm) {
            try changes(#"{"Type":"Notification","Message":"hello"}"#)
        }
    }

    @Test func `events of EventBridge have keys as they are`() throws {
        func event(_ kind: String) -> String {
            #"{"version":"0","detail-type":"\#(kind)","source":"aws.s3","detail":{"version":"0","#
                + #""bucket":{"name":"photos"},"object":{"key":"a/b+c%20.jpg","size":1}}}"#
        }
        #expect(try changes(event("Object Created")) == [change("a/b+c%20.jpg")])
        #expect(try changes(event("Object Deleted")) == [change("a/b+c%20.jpg", isRemoval: true)])
    }

    @Test func `messages of SeaweedFS name paths of its filer`() throws {
        func message(_ path: String, _ kind: String, _ entry: String = "{}") -> String {
            #"{"key":"\#(path)","event_type":"\#(kind)","message":\#(entry)}"#
        }
        #expect(try changes(message("/buckets/photos/a/b", "create")) == [change("a/b")])
        #expect(
            try changes(message("/buckets/photos/a/b", "delete")) == [
                change("a/b", isRemoval: true)
            ])
        #expect(
            try changes(
                message(
                    "/buckets/photos/a/b", "rename",
                    #"{"new_entry":{"name":"c"},"new_parent_path":"/buckets/photos/d"}"#))
                == [change("a/b", isRemoval: true), change("d/c")])
        for path in ["/buckets/photos/.uploads/1/2", "/buckets/photosets/a", "/buckets/photos"] {
            #expect(try changes(message(path, "create")) == [])
        }
    }

    @Test(arguments: ["", "{}", "[]", "{\"Records\":1}", "{\"Records\":[{}]}", "1", "\u{0}"])
    func `anything else is refused`(text: String) {
        #expect(throws: NotificationError.unknownForm) { try changes(text) }
    }

    @Test func `none is taken before the source is connected`() throws {
        let inbox = NotificationInbox()
        #expect(throws: NotificationError.notConnected) { try inbox.deliver([]) }
        inbox.open { body throws(NotificationError) in body.count }
        let count = try inbox.deliver([1, 2])
        #expect(count == 2)
    }

    @Test func `the message at the configuration has no change`() throws {
        #expect(
            try changes(#"{"Service":"Amazon S3","Event":"s3:TestEvent","Bucket":"photos"}"#) == [])
    }

    // MARK: Reports

    private func key(_ path: String) throws -> ObjectKey {
        ObjectKey(try path.split(separator: "/").map { try #require(FileName(String($0))) })
    }

    /// A feed below the prefix `p/` that follows directories, and the anchor from which on it has
    /// reported nothing.
    private func feed(following paths: String...) async throws -> (S3Feed, ChangeAnchor) {
        let feed = S3Feed(bucket: "photos", keys: S3KeyMap(prefix: S3Key("p/")))
        #expect(!feed.follow(.root), "nothing shows that notifications come")
        _ = try feed.take(Array(#"{"Event":"s3:TestEvent"}"#.utf8))
        for path in paths { #expect(try feed.follow(key(path))) }
        let report = try await feed.report(since: nil)
        #expect(report.mayHaveMissed)
        return (feed, report.anchor)
    }

    private func reported(
        _ feed: S3Feed, _ event: String, _ keys: String..., since anchor: ChangeAnchor
    ) async throws -> Set<String> {
        for key in keys {
            _ = try feed.take(Array((#"{"Records":["# + Self.record(event, key) + "]}").utf8))
        }
        // It is always reported, so that there is a report.
        feed.unfollow(try key("end"))
        let directories = try await feed.report(since: anchor).directories
        return Set(directories.map(\.description)).subtracting(["end"])
    }

    @Test func `a new object shows in the lowest directory that is followed`() async throws {
        let (feed, anchor) = try await feed(following: "", "a", "a/b", "end")
        let put = "ObjectCreated:Put"
        #expect(try await reported(feed, put, "p/a/b/c", since: anchor) == ["a/b"])
    }

    @Test(arguments: [
        ("p/a/x/y/z", ["a"]), ("p/n", [""]), ("q/a/b", []), ("p/a/b/", ["a", "a/b"]),
        ("p/a/bb", ["a"]),
        ("p/", [""]), ("p", []),
    ])
    func `a new object shows above directories that are not`(
        key: String, expected: [String]
    ) async throws {
        let (feed, anchor) = try await feed(following: "", "a", "a/b", "end")
        #expect(
            try await reported(feed, "ObjectCreated:Copy", key, since: anchor) == Set(expected))
    }

    @Test func `a removal shows in all directories above it`() async throws {
        let (feed, anchor) = try await feed(following: "", "a", "a/b", "b", "end")
        let gone = "ObjectRemoved:DeleteMarkerCreated"
        #expect(try await reported(feed, gone, "p/a/b/c", since: anchor) == ["", "a", "a/b"])
    }

    @Test func `a directory that is not followed any more is reported once`() async throws {
        let (feed, anchor) = try await feed(following: "a", "end")
        feed.unfollow(try key("a"))
        #expect(try await reported(feed, "ObjectCreated:Put", "p/a/b", since: anchor) == ["a"])
        let later = try await feed.report(since: nil).anchor
        #expect(try feed.follow(key("end")))
        #expect(try await reported(feed, "ObjectCreated:Put", "p/a/c", since: later) == [])
    }
}
