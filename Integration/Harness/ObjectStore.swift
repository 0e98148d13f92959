import Foundation
import Glibc
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
    private let ports: [UInt16]

    var url: String { "http://127.0.0.1:\(port)" }

    /// What `apus mount` calls a part of the bucket.
    func source(_ prefix: String = "") -> String {
        "s3://\(Self.bucket)/\(prefix)?endpoint=\(url)&region=us-east-1"
    }

    /// What a program needs in its environment to use the store.
    var environment: [String: String] {
        [
            "AWS_ACCESS_KEY_ID": Self.accessKey, "AWS_SECRET_ACCESS_KEY": Self.secretKey,
            "AWS_EC2_METADATA_DISABLED": "true", "AWS_SHARED_CREDENTIALS_FILE": "\(base)/none",
            "AWS_CONFIG_FILE": "\(base)/none",
        ]
    }

    /// Starts a server, and ends it after `body` whatever happens.
    static func with<Value>(
        _ kind: Kind, isolation: isolated (any Actor)? = #isolation,
        _ body: (ObjectStore) async throws -> Value
    ) async throws -> Value {
        let store = try ObjectStore()
        defer { store.remove() }
        let program = try store.start(kind)
        defer { store.stop(program) }
        try eventually("the store answers", within: .seconds(60)) {
            try #require(program.isRunning, Comment(rawValue: store.log))
            return store.answers
        }
        try store.python(
            """
            import time
            for attempt in range(240):
                try:
                    s3.create_bucket(Bucket=bucket)
                    s3.put_object(Bucket=bucket, Key='ready', Body=b'1')
                    s3.delete_object(Bucket=bucket, Key='ready')
                    break
                except Exception as error:
                    if attempt == 239: raise
                    time.sleep(0.25)
            """)
        return try await body(store)
    }

    private init() throws {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/o.XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil, "mkdtemp below \(parent)")
        base = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        ports = try Self.freePorts(8)
        port = ports[0]
        for name in ["data", "run"] { try Files.makeDirectory("\(base)/\(name)") }
    }

    // MARK: What others do there

    /// Runs a program of Python with boto3: `s3` is a client, `bucket` the bucket, `arguments` what
    /// is given.
    ///
    /// - Returns: What it prints.
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

    /// What makes `store:` the server for an rclone that is found on the `PATH`.
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
        }
        try eventually("s3fs is mounted", within: .seconds(30)) {
            let table = (try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)) ?? ""
            return table.contains(" \(point) ")
        }
        try body(point)
    }

    // MARK: Starting and ending

    private func start(_ kind: Kind) throws -> Program {
        let output = ["sh", "-c", "exec \"$0\" \"$@\" >\(base)/run/log 2>&1"]
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
                    "-master.volumeSizeLimitMB=64", "-volume.max=100",
                ] + given, limitSeconds: 600)
        case .moto:
            return try Program.start(
                output + [Self.tool("moto_server"), "-H", "127.0.0.1", "-p", "\(port)"],
                limitSeconds: 600)
        }
    }

    private func stop(_ program: Program) {
        program.signal(SIGTERM)
        if (try? program.wait()) == nil { Issue.record("the store did not end") }
    }

    private func remove() {
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

    // MARK: Ports

    private var answers: Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        return Self.withAddress(port) { connect(descriptor, $0, $1) } == 0
    }

    /// Ports that nobody listens on; all are held until the last is found, so they differ.
    private static func freePorts(_ count: Int) throws -> [UInt16] {
        var descriptors: [Int32] = []
        defer { for descriptor in descriptors { close(descriptor) } }
        return try (0..<count).map { _ in
            let descriptor = try CallError.check(
                socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0), "socket")
            descriptors.append(descriptor)
            try CallError.check(withAddress(0) { bind(descriptor, $0, $1) }, "bind")
            var address = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let code = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    getsockname(descriptor, $0, &size)
                }
            }
            try CallError.check(code, "getsockname")
            return UInt16(bigEndian: address.sin_port)
        }
    }

    private static func withAddress(
        _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
