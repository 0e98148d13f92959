import Engine
import ProviderConformance
import Testing

@testable import ProviderS3

extension S3Tests {
    @Test func `times, modes and links mean the same to rclone, s3fs and Apus`() async throws {
        try await ObjectStore.with(.seaweedFS) { store in
            let provider = try await Self.connect(store, "shared")
            func key(_ name: String) throws -> ObjectKey {
                ObjectKey([try #require(FileName(name))])
            }
            let modified = Timestamp(seconds: 1_234_567_890, nanoseconds: 123_456_789)
            _ = try await provider.write(
                key("ours"), from: ConformanceSource(bytes: [1, 2, 3]),
                attributes: ObjectAttributes(modified: modified, mode: 0o751), base: .absent,
                session: UntrackedUpload())
            let listed = try store.rclone("lsjson", "store:\(ObjectStore.bucket)/shared")
            #expect(listed.contains("2009-02-13T23:31:30.123456789"), "\(listed)")
            let copies = "\(store.base)/copies"
            try store.rclone(
                "copy", "--metadata", "store:\(ObjectStore.bucket)/shared", copies)
            let ours = try Program.require("stat", "-c", "%a %.9Y", "\(copies)/ours")
            #expect(ours == "751 1234567890.123456789\n")
            try Files.setMode(0o604, of: "\(copies)/ours")
            try store.rclone(
                "copyto", "--metadata", "\(copies)/ours",
                "store:\(ObjectStore.bucket)/shared/back")
            let back = try await provider.stat(key("back"))
            #expect(back.mode == 0o604)
            #expect(back.modified == modified)

            try Files.write([4, 5], to: "\(store.base)/theirs")
            try Program.require("touch", "-d", "2001-02-03T04:05:06.789Z", "\(store.base)/theirs")
            try store.rclone(
                "copy", "\(store.base)/theirs", "store:\(ObjectStore.bucket)/shared")
            let theirs = try await provider.stat(key("theirs"))
            #expect(
                theirs.modified == Timestamp(seconds: 981_173_106, nanoseconds: 789_000_000))

            // As s3fs stores a link and a file.
            try store.python(
                """
                s3.put_object(Bucket=bucket, Key='shared/link', Body=b'ours',
                    Metadata={'mode': '41471', 'mtime': '1600000000', 'uid': '0', 'gid': '0'})
                s3.put_object(Bucket=bucket, Key='shared/file', Body=b'x',
                    Metadata={'mode': '33152', 'mtime': '1600000000', 'uid': '7', 'gid': '8'})
                """)
            let link = try await provider.stat(key("link"))
            #expect(link.kind == .symlink)
            #expect(link.target == Array("ours".utf8))
            let file = try await provider.stat(key("file"))
            #expect(file.mode == 0o600)
            _ = try await provider.setAttributes(
                key("file"), to: ObjectAttributes(modified: modified, mode: 0o644), etag: file.etag)
            let kept = try store.python(
                """
                print(s3.head_object(Bucket=bucket, Key='shared/file')['Metadata'].get('uid'))
                """)
            #expect(kept == "7\n")
        }
    }

    @Test func `s3fs and Apus see each other's files alike`() async throws {
        try await ObjectStore.with(.seaweedFS) { store in
            let provider = try await Self.connect(store)
            func key(_ name: String) throws -> ObjectKey {
                ObjectKey([try #require(FileName(name))])
            }
            var attributes = ObjectAttributes(
                modified: Timestamp(seconds: 1_234_567_890, nanoseconds: 5), mode: 0o640)
            attributes.extendedAttributes[Array("user.ours".utf8)] = [1, 0, 0xFF]
            _ = try await provider.write(
                key("ours"), from: ConformanceSource(bytes: [1, 2, 3]), attributes: attributes,
                base: .absent, session: UntrackedUpload())
            _ = try await provider.createSymlink(
                key("our-link"), target: Array("ours".utf8), attributes: attributes)
            _ = try await provider.createDirectory(
                key("our-directory"),
                attributes: ObjectAttributes(modified: attributes.modified, mode: 0o750))
            try store.withS3FS { point in
                let seen = try Program.require(
                    "stat", "-c", "%a %Y %F", "\(point)/ours", "\(point)/our-link")
                #expect(seen == "640 1234567890 regular file\n640 1234567890 symbolic link\n")
                #expect(try Files.read("\(point)/our-link") == [1, 2, 3])
                #expect(
                    try Program.require("stat", "-c", "%F", "\(point)/our-directory")
                        == "directory\n")
                #expect(try Files.attributeNames(of: "\(point)/ours") == ["user.ours"])
                #expect(try Files.attribute("user.ours", of: "\(point)/ours") == [1, 0, 0xFF])
                try Files.write([4, 5], to: "\(point)/theirs")
                try Files.setAttribute("user.theirs", to: [9], of: "\(point)/theirs")
                try Program.require("chmod", "600", "\(point)/theirs")
                try Program.require("touch", "-d", "2001-02-03T04:05:06Z", "\(point)/theirs")
                try Program.require("ln", "-s", "theirs", "\(point)/their-link")
                try Files.makeDirectory("\(point)/their-directory")
            }
            let theirs = try await provider.stat(key("theirs"))
            #expect(theirs.mode == 0o600)
            #expect(theirs.modified == Timestamp(seconds: 981_173_106))
            #expect(theirs.extendedAttributes?[Array("user.theirs".utf8)] == [9])
            let link = try await provider.stat(key("their-link"))
            #expect(link.kind == .symlink)
            #expect(link.target == Array("theirs".utf8))
            #expect(try await provider.stat(key("their-directory")).kind == .directory)
        }
    }
}
