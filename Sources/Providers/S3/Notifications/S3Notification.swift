import Foundation
import ProviderSupport
import SystemCalls

/// The changed objects that a notification of a store names.
///
/// It is in one of these forms:
/// - Amazon S3's event message (Amazon S3 User Guide, "Event message structure"), as MinIO, Ceph and
///   others send it;
/// - the same in a message of Amazon SNS;
/// - the event of Amazon EventBridge (`Object Created`, `Object Deleted`);
/// - the message of SeaweedFS's filer (`notification.webhook`).
struct S3Notification: Hashable {
    struct Change: Hashable {
        var key: S3Key
        /// Whether the object is gone. Then a directory may be gone with it.
        var isRemoval = false
    }

    var changes: [Change]

    /// - Parameter bucket: Changes in others are left out.
    init(parsing body: [UInt8], bucket: String) throws(NotificationError) {
        guard let message = try? JSONDecoder().decode(Message.self, from: Data(body)) else {
            throw .unknownForm
        }
        if message.type == "SubscriptionConfirmation", let url = message.subscribeURL {
            throw .needsConfirmation(url: url)
        }
        if message.type == "Notification", let text = message.text?.string {
            // SNS does not put its messages into each other.
            guard let inner = try? JSONDecoder().decode(Message.self, from: Data(text.utf8)),
                inner.type == nil
            else { throw .unknownForm }
            changes = try Self.changes(inner, bucket)
        } else {
            changes = try Self.changes(message, bucket)
        }
    }

    private static func changes(
        _ message: Message, _ bucket: String
    ) throws(NotificationError) -> [Change] {
        if let records = message.records {
            return records.filter { $0.s3.bucket.name == bucket }.compactMap(\.change)
        }
        if let detail = message.detail, let kind = message.detailType {
            guard detail.bucket.name == bucket else { return [] }
            return [
                Change(key: S3Key(detail.object.key), isRemoval: kind.hasPrefix("Object Deleted"))
            ]
        }
        if let path = message.key, let kind = message.eventType {
            return filerChanges(path, kind, message.text?.entry, bucket)
        }
        // Amazon sends it when notifications are configured.
        if message.event == "s3:TestEvent" { return [] }
        throw .unknownForm
    }

    // MARK: SeaweedFS

    private static func filerChanges(
        _ path: String, _ kind: String, _ entry: Message.FilerEntry?, _ bucket: String
    ) -> [Change] {
        let top = "/buckets/\(bucket)/"
        func change(_ path: String, isRemoval: Bool) -> Change? {
            guard path.hasPrefix(top) else { return nil }
            let key = path.dropFirst(top.count)
            // Parts of uploads, which no listing shows.
            if key.isEmpty || key == ".uploads" || key.hasPrefix(".uploads/") { return nil }
            return Change(key: S3Key(String(key)), isRemoval: isRemoval)
        }
        guard kind == "rename" else {
            return [change(path, isRemoval: kind == "delete")].compactMap(\.self)
        }
        let moved = entry.flatMap { entry in
            entry.parent.flatMap { parent in entry.new?.name.map { "\(parent)/\($0)" } }
        }
        return [
            change(path, isRemoval: true), moved.flatMap { change($0, isRemoval: false) },
        ].compactMap(\.self)
    }
}

extension S3Notification {
    /// All forms at once: each member is nil in those that do not have it.
    fileprivate struct Message: Decodable {
        struct Bucket: Decodable { var name: String }
        struct Object: Decodable { var key: String }

        struct Record: Decodable {
            struct S3: Decodable {
                var bucket: Bucket
                var object: Object
            }

            var eventName: String
            var s3: S3

            /// nil if the key is not encoded as in forms.
            var change: Change? {
                PercentCoding.decode(s3.object.key, plusIsBlank: true).map { bytes in
                    let isRemoval =
                        eventName.contains("ObjectRemoved")
                        || eventName.contains("LifecycleExpiration")
                    return Change(key: S3Key(bytes), isRemoval: isRemoval)
                }
            }
        }

        struct Detail: Decodable {
            var bucket: Bucket
            var object: Object
        }

        struct FilerEntry: Decodable {
            struct New: Decodable { var name: String? }

            var new: New?
            var parent: String?

            enum CodingKeys: String, CodingKey {
                case new = "new_entry"
                case parent = "new_parent_path"
            }
        }

        /// SNS has a text there, SeaweedFS an object.
        struct Text: Decodable {
            var string: String?
            var entry: FilerEntry?

            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                string = try? container.decode(String.self)
                entry = string == nil ? try? container.decode(FilerEntry.self) : nil
            }
        }

        var records: [Record]?
        var detail: Detail?
        var detailType: String?
        var key: String?
        var eventType: String?
        var event: String?
        var type: String?
        var subscribeURL: String?
        private var snsMessage: Text?
        private var filerMessage: Text?

        var text: Text? { snsMessage ?? filerMessage }

        enum CodingKeys: String, CodingKey {
            case records = "Records"
            case detail
            case detailType = "detail-type"
            case key
            case eventType = "event_type"
            case event = "Event"
            case type = "Type"
            case subscribeURL = "SubscribeURL"
            case snsMessage = "Message"
            case filerMessage = "message"
        }
    }
}
