import Foundation
import Glibc
import Synchronization
import Testing

/// A server for S3 of a test's own on 127.0.0.1, with one bucket.
final class ObjectStore: Sendable {
    enum Kind: Sendable {
        /// A real distributed store, in one process.
        case seaweedFS
        /// A mock in Python, which ignores some conditions and skips some checks.
        case moto
    }

    static let bucket = "apus-bucket"
    private static let accessKey = "apus-key"
    private static let secretKey = "apus-secret"

    /// Everything of this server is below here.
    let base: String
    let port: UInt16
    private let kind: Kind
    private let ports: [UInt16]
    private let running = Mutex<Program?>(nil)

    var url: String { "http://127.0.0.1:\(port)" }

    /// Returns the source that `apus mount` takes for a part of the bucket.
    ///
    /// - Parameter port: That of a relay, if there is one.
    func source(_ prefix: String = "", port: UInt16? = nil) -> String {
        "s3://\(Self.bucket)/\(prefix)?endpoint=http://127.0.0.1:\(port ?? self.port)"
            + "&region=us-east-1"
    }

    /// The environment that a program needs to use the store.
    var environment: [String: String] {
        [
            "AWS_ACCESS_KEY_ID": Self.accessKey, "AWS_SECRET_ACCESS_KEY": Self.secretKey,
            "AWS_EC2_METADATA_DISABLED": "true", "AWS_SHARED_CREDENTIALS_FILE": "\(base)/none",
            "AWS_CONFIG_FILE": "\(base)/none",
        ]
    }

    /// Starts a server, and ends it after `body` whatever happens.
    ///
    /// - Parameter notifications: A URL to which SeaweedFS sends its notifications, and their token.
    static func with<Value>(
        _ kind: Kind, notifications: (url: String, token: String)? = nil,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (ObjectStore) async throws -> Value
    ) async throws -> Value {
        let store = try ObjectStore(kind)
        try notifications.map(store.configure)
        defer { store.remove() }
        try store.start()
        defer { store.stop() }
        return try await body(store)
    }

    private init(_ kind: Kind) throws {
        self.kind = kind
        base = try Files.makeTemporaryDirectory("o")
        ports = try LocalSocket.freePorts(8)
        port = ports[0]
        for name in ["data", "run"] { try Files.makeDirectory("\(base)/\(name)") }
    }

    private func configure(_ notifications: (url: String, token: String)) throws {
        let text = """
            [notification.webhook]
            enabled = true
            endpoint = "\(notifications.url)"
            bearer_token = "\(notifications.token)"
            backoff_seconds = 1
            """
        try Files.write(Array(text.utf8), to: "\(base)/run/notification.toml")
    }

    // MARK: Other clients

    /// Runs a Python program with boto3: `s3` is a client, `bucket` the bucket, `arguments` the
    /// arguments.
    ///
    /// - Returns: Its output.
    @discardableResult
    func python(
        _ program: String, _ arguments: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> String {
        let head = """
            import sys, boto3, botocore.config
            bucket, arguments = sys.argv[2], sys.argv[3:]
            s3 = boto3.client('s3', endpoint_url=sys.argv[1], region_name='us-east-1',
                config=botocore.config.Config(
                    s3={'addressing_style': 'path'}, retries={'max_attempts': 1},
                    connect_timeout=5, read_timeout=20))

            """
        let result = try Program.start(
            [Self.tool("python"), "-c", head + program, url, Self.bucket] + arguments,
            limitSeconds: 90, environment: environment
        ).wait()
        try #require(
            result.status == 0, Comment(rawValue: "\(result.errors)\n\(log)"),
            sourceLocation: sourceLocation)
        return result.output
    }

    /// The environment in which rclone is found on the `PATH`, and `store:` is the server.
    var rcloneEnvironment: [String: String] {
        var environment = environment
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        let tools = URL(filePath: Self.tool("rclone")).deletingLastPathComponent()
        environment["PATH"] = tools.path(percentEncoded: false) + ":" + path
        environment["RCLONE_CONFIG"] = "\(base)/rclone.conf"
        environment["RCLONE_CONFIG_STORE_TYPE"] = "s3"
        environment["RCLONE_CONFIG_STORE_PROVIDER"] = "Other"
        environment["RCLONE_CONFIG_STORE_ENV_AUTH"] = "true"
        environment["RCLONE_CONFIG_STORE_ENDPOINT"] = url
        environment["RCLONE_CONFIG_STORE_REGION"] = "us-east-1"
        return environment
    }

    /// Runs rclone; `store:` is the server.
    @discardableResult
    func rclone(
        _ arguments: String..., sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> String {
        let result = try Program.start(
            [Self.tool("rclone")] + arguments, environment: rcloneEnvironment
        ).wait()
        try #require(
            result.status == 0, Comment(rawValue: result.description),
            sourceLocation: sourceLocation)
        return result.output
    }

    /// Mounts the bucket with s3fs while `body` runs.
    func withS3FS(_ body: (_ point: String) throws -> Void) throws {
        let (point, secrets) = ("\(base)/s3fs", "\(base)/s3fs-password")
        try Files.makeDirectory(point)
        try Files.write(Array("\(Self.accessKey):\(Self.secretKey)\n".utf8), to: secrets)
        try Files.setMode(0o600, of: secrets)
        let program = try Program.start([
            "s3fs", Self.bucket, point, "-f", "-o", "url=\(url)", "-o", "use_path_request_style",
            "-o", "passwd_file=\(secrets)", "-o", "use_xattr",
        ])
        defer {
            _ = try? Program.run("fusermount3", "-uz", point)
            program.signal(SIGTERM)
            if (try? program.wait()) == nil { Issue.record("s3fs did not end") }
            try? Files.removeDirectory(point)
        }
        try eventually("s3fs is mounted", within: .seconds(30)) {
            try Files.mountTable().contains(" \(point) ")
        }
        try body(point)
    }

    // MARK: Starting and ending

    /// Returns once there is a bucket and it takes objects.
    private func start() throws {
        let program = try launch()
        running.withLock { $0 = program }
        try eventually("the store answers") {
            try #require(program.isRunning, Comment(rawValue: log))
            return LocalSocket.answers(port)
        }
        let object = "\(Self.bucket)/ready"
        try eventually("the store takes objects") {
            // After a restart the bucket is there already.
            try ["200", "409"].contains(status("PUT", Self.bucket))
                && status(
                    "PUT", object, "--data", "1", "--header",
                    "x-amz-content-sha256: "
                        + "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b")
                    == "200"
                && status("DELETE", object) == "204"
        }
    }

    /// Returns the status of the answer to a request.
    ///
    /// By curl, which takes a hundredth of the time that Python needs to load boto3.
    private func status(_ method: String, _ path: String, _ options: String...) throws -> String {
        let command = [
            "curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}",
            "--aws-sigv4", "aws:amz:us-east-1:s3", "--user", "\(Self.accessKey):\(Self.secretKey)",
            "--request", method,
        ]
        return try Program.start(command + options + ["\(url)/\(path)"]).wait().output
    }

    /// Ends it as a crash would.
    func kill() throws {
        let program = try #require(running.withLock { $0.take() })
        program.killAll()
        _ = try program.wait()
        try eventually("its ports are free") { !ports.contains(where: LocalSocket.answers) }
    }

    /// Brings it back after ``kill()``, on its ports and with its data.
    func restart() throws { try start() }

    private func launch() throws -> Program {
        // SeaweedFS looks for notification.toml in its working directory.
        let output = ["sh", "-c", "cd \(base)/run && exec \"$0\" \"$@\" >log 2>&1"]
        switch kind {
        case .seaweedFS:
            let identity = """
                {"identities": [{"name": "apus", "credentials": [
                {"accessKey": "\(Self.accessKey)", "secretKey": "\(Self.secretKey)"}],
                "actions": ["Admin", "Read", "Write", "List", "Tagging"]}]}
                """
            try Files.write(Array(identity.utf8), to: "\(base)/identities.json")
            let names = [
                "s3.port", "s3.port.grpc", "master.port", "master.port.grpc", "volume.port",
                "volume.port.grpc", "filer.port", "filer.port.grpc",
            ]
            let given = zip(names, ports).map { "-\($0)=\($1)" }
            return try Program.start(
                output + [
                    Self.tool("weed"), "-logtostderr", "server", "-dir=\(base)/data",
                    "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3", "-s3.port.iceberg=0",
                    "-s3.port.lance=0", "-s3.config=\(base)/identities.json",
                    "-master.volumeSizeLimitMB=64", "-master.telemetry=false", "-volume.max=100",
                ] + given, limitSeconds: Program.serverLimitSeconds)
        case .moto:
            return try Program.start(
                output + [Self.tool("moto_server"), "-H", "127.0.0.1", "-p", "\(port)"],
                limitSeconds: Program.serverLimitSeconds)
        }
    }

    /// Kills it, since SeaweedFS takes half a minute to end by itself, and its data is removed.
    private func stop() {
        guard let program = running.withLock({ $0.take() }) else { return }
        program.killAll()
        if (try? program.wait()) == nil { Issue.record("the store did not end") }
    }

    private func remove() {
        // SeaweedFS leaves its sockets, and offers no option for their directory.
        for name in (try? Files.names(in: "/tmp")) ?? [] where name.hasPrefix("seaweedfs-") {
            if ports.contains(where: { name.hasSuffix("-\($0).sock") }) {
                try? Files.unlink("/tmp/\(name)")
            }
        }
        if getenv("KEEP") == nil {
            _ = try? Program.run("rm", "-rf", "--one-file-system", base)
        }
    }

    private var log: String {
        let log = (try? Files.read("\(base)/run/log")) ?? []
        return String(decoding: log.suffix(4_096), as: UTF8.self)
    }

    private static func tool(_ name: String) -> String { "\(project)/.venv/bin/\(name)" }

    /// Where the tests are, two levels above this file's folder.
    private static let project = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path(percentEncoded: false)
}
