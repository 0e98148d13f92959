import Glibc
import Testing

extension MountedTests {
    /// No directory is listed at intervals while these tests run: only notifications show changes.
    @Suite
    struct `Notifications of a store` {
        private static let token = "0123456789abcdef0123456789abcdef"

        private static func options(
            _ store: ObjectStore, port: UInt16, tokenFile: String
        ) -> MountedFolder.Options {
            var options = MountedFolder.Options()
            options.otherSource = store.source("p")
            options.mount = [
                "--refresh", "1h", "--webhook", "127.0.0.1:\(port)", "--webhook-token-file",
                tokenFile,
            ]
            options.environment = store.environment
            return options
        }

        private static func withTokenFile(_ body: (_ path: String) async throws -> Void)
            async throws
        {
            let directory = try Files.makeTemporaryDirectory("n")
            defer { _ = try? Program.run("rm", "-rf", directory) }
            let path = "\(directory)/token"
            try Files.write(Array("\(token)\n".utf8), to: path)
            try Files.setMode(0o600, of: path)
            try await body(path)
        }

        private static func post(
            _ text: String, to port: UInt16, _ options: String...
        ) throws -> String {
            let head = [
                "curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}",
                "--data-binary", text,
            ]
            let url = "http://127.0.0.1:\(port)/notifications"
            return try Program.start(head + options + [url]).wait().output
        }

        @Test(.timeLimit(.minutes(4)))
        func `show the changes of others at once`() async throws {
            let port = try LocalSocket.freePorts(1)[0]
            try await Self.withTokenFile { tokenFile in
                let url = "http://127.0.0.1:\(port)/notifications"
                try await ObjectStore.with(.seaweedFS, notifications: (url, Self.token)) { store in
                    try store.python(
                        "for key in arguments: s3.put_object(Bucket=bucket, Key=key, Body=b'1')",
                        "p/outer/inner/changes", "p/outer/inner/goes", "p/outer/alone/last")
                    let options = Self.options(store, port: port, tokenFile: tokenFile)
                    try MountedFolder.with(options) { folder in
                        try Self.check(folder, store)
                    }
                }
            }
        }

        private static func check(_ folder: MountedFolder, _ store: ObjectStore) throws {
            let inner = folder.local("outer/inner")
            func fillCaches() throws {
                #expect(try Files.names(in: folder.local("outer")) == ["alone", "inner"])
                #expect(try Files.names(in: inner) == ["changes", "goes"])
                #expect(try Files.names(in: folder.local("outer/alone")) == ["last"])
                #expect(!Files.exists("\(inner)/comes"))
            }
            try fillCaches()
            // The first notification, from which on directories are followed: that of a file of our own.
            try Files.write([1], to: folder.local("own"))
            try folder.sync()
            try store.python(
                "s3.put_object(Bucket=bucket, Key='p/outer/inner/comes', Body=b'1')")
            try eventually("a new name is there") { Files.exists("\(inner)/comes") }
            try store.python(
                """
                s3.delete_object(Bucket=bucket, Key='p/outer/inner/goes')
                s3.put_object(Bucket=bucket, Key='p/outer/inner/changes', Body=b'222')
                s3.put_object(Bucket=bucket, Key='p/outer/new/deep/file', Body=b'1')
                s3.delete_object(Bucket=bucket, Key='p/outer/alone/last')
                """)
            try eventually("a removed name is gone") { !Files.exists("\(inner)/goes") }
            try eventually("the content is the new one") {
                try Files.holds(Array("222".utf8), at: "\(inner)/changes")
            }
            try eventually("a new directory is there") {
                Files.exists(folder.local("outer/new/deep/file"))
            }
            try eventually("a file that was the last of its directory is gone") {
                try !Files.exists(folder.local("outer/alone"))
                    || Files.names(in: folder.local("outer/alone")) == []
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `are refused without their secret and in unknown forms`() async throws {
            let port = try LocalSocket.freePorts(1)[0]
            try await Self.withTokenFile { tokenFile in
                try await ObjectStore.with(.moto) { store in
                    let options = Self.options(store, port: port, tokenFile: tokenFile)
                    try MountedFolder.with(options) { folder in
                        let event =
                            #"{"Records":[{"eventName":"ObjectCreated:Put","s3":{"bucket":{"name":""#
                            + ObjectStore.bucket + #""},"object":{"key":"p/new"}}}]}"#
                        let bearer = "Authorization: Bearer \(Self.token)"
                        #expect(try Self.post(event, to: port) == "401")
                        #expect(
                            try Self.post(event, to: port, "--header", bearer + "0") == "401")
                        #expect(try Self.post("{}", to: port, "--header", bearer) == "400")
                        #expect(try Self.post("[", to: port, "--header", bearer) == "400")
                        let large = "\(folder.base)/large"
                        try Files.write([UInt8](repeating: 0x20, count: 1 << 20 | 1), to: large)
                        #expect(
                            try Self.post(
                                event, to: port, "--header", bearer, "--data-binary", "@\(large)")
                                == "413")
                        #expect(!Files.exists(folder.local("new")))
                        try store.python("s3.put_object(Bucket=bucket, Key='p/new', Body=b'1')")
                        #expect(
                            try Self.post(event, to: port, "--user", "any:\(Self.token)") == "204")
                        try eventually("the change is seen") { Files.exists(folder.local("new")) }
                    }
                }
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func `need a source that has them, a secret, and a free port`() throws {
            let directory = try Files.makeTemporaryDirectory("n")
            defer { _ = try? Program.run("rm", "-rf", directory) }
            for name in ["remote", "point", "state"] {
                try Files.makeDirectory("\(directory)/\(name)")
            }
            func refusal(_ source: String, _ options: String...) throws -> String {
                let result = try Program.start(
                    [Apus.path, "mount", source, "\(directory)/point"] + options
                        + ["--state-dir", "\(directory)/state"]
                ).wait()
                #expect(result.status == 1)
                return result.errors
            }
            let address = ["--webhook", "127.0.0.1:8399"]
            let token = "\(directory)/token"
            #expect(
                try refusal(
                    "folder:\(directory)/remote", address[0], address[1], "--webhook-token-file",
                    token
                ).contains("only the stores of s3: sources send notifications"))
            #expect(
                try refusal("s3://bucket", address[0], address[1]).contains("there is no secret"))
            #expect(
                try refusal("s3://bucket", "--webhook-token-file", token).contains(
                    "there is no address"))
            try Files.write(Array("short".utf8), to: token)
            try Files.setMode(0o600, of: token)
            let options = address + ["--webhook-token-file", token]
            #expect(
                try refusal("s3://bucket", options[0], options[1], options[2], options[3]).contains(
                    "holds no secret"))
            try Files.write(Array(Self.token.utf8), to: token)
            try Files.setMode(0o644, of: token)
            #expect(
                try refusal("s3://bucket", options[0], options[1], options[2], options[3]).contains(
                    "other users may open it"))
        }
    }
}
