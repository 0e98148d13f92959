import Engine
import ProviderSupport
import Transport

extension S3Client {
    /// A part that the store has.
    struct Part: Hashable, Sendable {
        let number: Int
        let etag: ETag
        let size: UInt64
        /// When it arrived, by the store's clock; nil if unknown.
        let modified: Timestamp?
    }

    /// An upload that was neither completed nor aborted.
    struct Unfinished: Hashable, Sendable {
        let key: S3Key
        let id: String
        /// When it was started, by the store's clock; nil if unknown.
        let begun: Timestamp?
    }

    struct UnfinishedPage: Sendable {
        var uploads: [Unfinished]
        /// The store's clock; nil if unknown.
        var now: Timestamp?
        /// The start of the next page; nil after the last one.
        var next: UploadMarker?
    }

    /// The last upload of a page, as the store names it.
    struct UploadMarker: Hashable, Sendable {
        let key: String
        let id: String
    }

    /// Lists unfinished uploads of any client to keys that begin with `prefix`: up to 1,000, in the
    /// order of their keys. The keys are requested unencoded, since SeaweedFS announces an encoding
    /// that it does not apply.
    func unfinishedUploads(
        prefix: S3Key, after marker: UploadMarker? = nil
    ) async throws(ProviderError) -> UnfinishedPage {
        var call = Call(
            method: .get,
            query: [("uploads", ""), ("max-uploads", "1000"), ("prefix", prefix.description)])
        if let marker {
            call.query += [("key-marker", marker.key), ("upload-id-marker", marker.id)]
        }
        let (response, body) = try await ask(call)
        let root = try parseAnswer(body)
        let uploads = root.all("Upload").compactMap { element -> Unfinished? in
            guard let key = element.text("Key"), let id = element.text("UploadId"), !id.isEmpty
            else { return nil }
            return Unfinished(
                key: S3Key(key), id: id,
                begun: element.text("Initiated").flatMap { Timestamp(rfc3339: $0) })
        }
        var page = UnfinishedPage(
            uploads: uploads, now: response.headers["date"].flatMap(Timestamp.init(httpDate:)))
        if root.text("IsTruncated") == "true", let key = root.text("NextKeyMarker") {
            let next = UploadMarker(key: key, id: root.text("NextUploadIdMarker") ?? "")
            // A store that ignores the marker would send the same page for ever.
            if next != marker { page.next = next }
        }
        return page
    }

    /// - Returns: The upload's id.
    func beginUpload(
        _ key: S3Key, headers: [(name: String, value: String)]
    ) async throws(ProviderError) -> String {
        let call = Call(
            method: .post, key: key, query: [("uploads", "")], headers: headers, body: .bytes([]))
        return try await ask(call, for: "UploadId", "the answer to a new upload has no id")
    }

    func sendPart(
        _ number: Int, of upload: String, _ key: S3Key, _ body: HTTPBody, hash: String,
        onProgress: @escaping @Sendable (UInt64) -> Void
    ) async throws(ProviderError) -> ETag {
        var call = Call(
            method: .put, key: key,
            query: [("partNumber", String(number)), ("uploadId", upload)], body: body,
            payloadHash: hash, onProgress: { sent, _ in onProgress(sent) })
        // The store has just accepted the upload.
        call.awaitsApproval = false
        let (response, _) = try await ask(call)
        return try Self.etag(of: response)
    }

    func copyPart(
        _ number: Int, of upload: String, _ key: S3Key, from source: S3Key, etag: ETag,
        range: Range<UInt64>
    ) async throws(ProviderError) -> ETag {
        let bytes = "bytes=\(range.lowerBound)-\(range.upperBound - 1)"
        let call = Call(
            method: .put, key: key,
            query: [("partNumber", String(number)), ("uploadId", upload)],
            headers: copySource(source, etag: etag) + [("x-amz-copy-source-range", bytes)],
            body: .bytes([]), stallTimeout: .seconds(600))
        return S3ETag.etag(
            try await ask(call, for: "ETag", "the answer to a copied part has no ETag"))
    }

    /// - Returns: The parts that have arrived, in no order; nil if there is no such upload.
    func parts(of upload: String, _ key: S3Key) async throws(ProviderError) -> [Part]? {
        var parts: [Part] = []
        var marker: String?
        repeat {
            var call = Call(
                method: .get, key: key, query: [("uploadId", upload), ("max-parts", "1000")])
            if let marker { call.query.append(("part-number-marker", marker)) }
            let body: [UInt8]
            do {
                body = try await ask(call).body
            } catch {
                if error.kind == .missing || error.refusal?.code == "NoSuchUpload" { return nil }
                throw error
            }
            let root = try parseAnswer(body)
            for element in root.all("Part") {
                guard let number = element.text("PartNumber").flatMap({ Int($0) }),
                    let etag = element.text("ETag"),
                    let size = element.text("Size").flatMap({ UInt64($0) })
                else { continue }
                let modified = element.text("LastModified").flatMap { Timestamp(rfc3339: $0) }
                parts.append(
                    Part(
                        number: number, etag: S3ETag.etag(etag), size: size, modified: modified))
            }
            let next = root.text("NextPartNumberMarker")
            guard root.text("IsTruncated") == "true", let next, next != marker else { break }
            marker = next
        } while parts.count < 100_000
        return parts
    }

    func completeUpload(
        _ upload: String, _ key: S3Key, parts: [Int: ETag],
        _ condition: S3Condition?
    ) async throws(ProviderError) -> ETag {
        var call = Call(
            method: .post, key: key, query: [("uploadId", upload)],
            headers: [("Content-Type", "application/xml")] + condition.headers,
            stallTimeout: .seconds(600))
        let list = parts.sorted { $0.key < $1.key }.map { number, etag in
            "<Part><PartNumber>\(number)</PartNumber>"
                + "<ETag>&quot;\(Self.escaped(etag.description))&quot;</ETag></Part>"
        }
        call.setBody(
            Array("<CompleteMultipartUpload>\(list.joined())</CompleteMultipartUpload>".utf8))
        return S3ETag.etag(
            try await ask(call, for: "ETag", "the answer to a whole upload has no ETag"))
    }

    /// Removes the parts of an upload, if it still exists.
    func abortUpload(_ upload: String, _ key: S3Key) async throws(ProviderError) {
        do {
            _ = try await ask(Call(method: .delete, key: key, query: [("uploadId", upload)]))
        } catch {
            if error.kind != .missing && error.refusal?.code != "NoSuchUpload" { throw error }
        }
    }
}
