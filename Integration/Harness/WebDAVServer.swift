import Foundation
import Glibc
import Synchronization
import Testing

/// A WebDAV server of a test's own on 127.0.0.1, with a folder that it serves.
final class WebDAVServer: Sendable {
    enum Kind: Sendable {
        /// Apache's mod_dav, as Debian has it.
        case apache
        /// The same over TLS with HTTP/2, its certificate by an authority that no system knows.
        case secureApache
        /// `rclone serve webdav`, from .venv.
        case rclone
        /// The same, on which names that differ in case only are one.
        case caselessRclone
        /// nginx with its dav-ext module, as Debian has it, installed or in .venv.
        case nginx
    }

    /// A name that Apache answers all requests for with status 500.
    static let failingName = "answered-with-500"

    /// The available servers, one of each make.
    static let kinds: [Kind] = [.apache, .rclone] + (hasNginx ? [.nginx] : [])

    private static let nginxModule = "lib/nginx/modules/ngx_http_dav_ext_module.so"
    /// The folder of nginx and its module, or nil if they are not installed.
    private static let nginx = ["/usr", "\(project)/.venv/nginx/usr"].first {
        Files.exists("\($0)/sbin/nginx") && Files.exists("\($0)/\(nginxModule)")
    }

    /// Whether nginx and the module are installed: scripts/setup leaves them out without a network.
    static let hasNginx = nginx != nil

    /// The account that may use it; without one, all requests are allowed.
    struct Account: Sendable {
        enum Scheme: String, Sendable {
            case basic = "Basic"
            case digest = "Digest"
        }

        let scheme: Scheme
        let user: String
        let password: String
    }

    /// Everything of this server is below here.
    let base: String
    /// The folder that it serves.
    let folder: String
    let port: UInt16
    private let kind: Kind
    private let keepAliveSeconds: Int
    private let account: Mutex<Account?>
    private let running = Mutex<Program?>(nil)

    var url: String { "\(scheme)://127.0.0.1:\(port)" }

    /// The source that `apus mount` takes for it.
    var source: String { "webdav+\(url)" }

    private var scheme: String { kind == .secureApache ? "https" : "http" }

    /// The authority of ``Kind/secureApache``.
    var authority: CertificateAuthority { CertificateAuthority(directory: base) }

    /// The requests that Apache was sent, one line each: the protocol, the method and the path.
    var requests: [String] {
        let text = (try? Files.read("\(base)/run/requests")) ?? []
        return String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Starts a server, and ends it after `body` whatever happens.
    ///
    /// - Parameter keepAliveSeconds: The pause after which Apache closes a connection. A range of a file that is
    ///   sent at that moment is not sent again by itself, but by the engine, which a test of a provider lacks.
    static func with<Value>(
        _ kind: Kind, account: Account? = nil, keepAliveSeconds: Int = 60,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (WebDAVServer) async throws -> Value
    ) async throws -> Value {
        let server = try WebDAVServer(kind, account, keepAliveSeconds: keepAliveSeconds)
        defer { server.remove() }
        try server.start()
        defer { server.stop() }
        return try await body(server)
    }

    private init(_ kind: Kind, _ account: Account?, keepAliveSeconds: Int) throws {
        self.kind = kind
        self.keepAliveSeconds = keepAliveSeconds
        self.account = Mutex(account)
        base = try Files.makeTemporaryDirectory("w")
        folder = "\(base)/folder"
        port = try LocalSocket.freePorts(1)[0]
        for name in ["folder", "run"] {
            try Files.makeDirectory("\(base)/\(name)")
            // Servers that were started by root serve as another user.
            try Files.setMode(0o777, of: "\(base)/\(name)")
        }
        try Files.setMode(0o755, of: base)
    }

    /// Makes an empty part of the folder.
    func makeRoom(_ name: String) throws {
        try Files.makeDirectory("\(folder)/\(name)")
        try Files.setMode(0o777, of: "\(folder)/\(name)")
    }

    /// The names in the folder, except for Apache's own: properties, and the parts of uploads that it
    /// had received before it was killed.
    var names: [String] {
        get throws {
            try Files.names(in: folder).filter { $0 != ".DAV" && !$0.hasPrefix(".davfs.tmp") }
        }
    }

    /// Stores a file as another client does.
    func put(_ bytes: [UInt8], at path: String) throws {
        let file = "\(base)/put"
        try Files.write(bytes, to: file)
        let path = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
        try Program.require("curl", "-sSf", "-T", file, "\(url)/\(path)")
    }

    /// Changes Apache's account, from the next request on; its scheme stays.
    func change(to account: Account) throws {
        self.account.withLock { $0 = account }
        try makePasswordFile(account)
    }

    // MARK: Starting and ending

    private func start() throws {
        let program = try launch()
        running.withLock { $0 = program }
        try eventually("the server answers") {
            try #require(program.isRunning, Comment(rawValue: log))
            return LocalSocket.answers(port)
        }
    }

    /// Ends it as a crash would.
    func kill() throws {
        let program = try #require(running.withLock { $0.take() })
        program.killAll()
        _ = try program.wait()
        try eventually("its port is free") { !LocalSocket.answers(port) }
        // A process that is not reaped yet would count as a running server.
        if Files.exists("\(base)/run/pid") { try Files.unlink("\(base)/run/pid") }
    }

    /// Stops its processes: connections are accepted, and never answered, until ``resume()``.
    func pause() throws { try running.withLock(\.self)?.pauseAll() }

    func resume() { running.withLock { $0?.signalAll(SIGCONT) } }

    /// Brings it back after ``kill()``, on its port and with its data.
    func restart() throws { try start() }

    private func launch() throws -> Program {
        switch kind {
        case .apache, .secureApache:
            if kind == .secureApache { try authority.make() }
            try Files.write(Array(try apacheSettings().utf8), to: "\(base)/settings")
            return try Program.start(
                ["/usr/sbin/apache2", "-f", "\(base)/settings", "-DFOREGROUND"],
                limitSeconds: Program.serverLimitSeconds)
        case .rclone, .caselessRclone:
            let rclone = "\(Self.project)/.venv/bin/rclone"
            let arguments =
                ["serve", "webdav", folder, "--addr", "127.0.0.1:\(port)"]
                + (kind == .caselessRclone ? ["--vfs-case-insensitive"] : [])
            return try Program.start(
                [rclone] + arguments + ["--log-file", "\(base)/run/log"],
                limitSeconds: Program.serverLimitSeconds,
                environment: ["RCLONE_CONFIG": "\(base)/rclone.conf"])
        case .nginx:
            let nginx = try #require(Self.nginx, "there is no nginx; run scripts/setup")
            let settings = nginxSettings(module: "\(nginx)/\(Self.nginxModule)")
            try Files.write(Array(settings.utf8), to: "\(base)/settings")
            return try Program.start(
                [
                    "\(nginx)/sbin/nginx", "-p", "\(base)/run", "-c", "\(base)/settings", "-e",
                    "\(base)/run/log",
                ],
                limitSeconds: Program.serverLimitSeconds)
        }
    }

    private func stop() {
        guard let program = running.withLock({ $0.take() }) else { return }
        program.signal(SIGTERM)
        if (try? program.wait()) == nil { Issue.record("the server did not end") }
    }

    private func remove() {
        if getenv("KEEP") == nil {
            _ = try? Program.run("rm", "-rf", "--one-file-system", base)
        }
    }

    private var log: String {
        (try? Files.read("\(base)/run/log")).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// Where the tests are, two levels above this file's folder.
    private static let project = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path(percentEncoded: false)

    // MARK: Settings

    private func apacheSettings() throws -> String {
        let modules = "/usr/lib/apache2/modules"
        let names = [
            "mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic",
            "auth_digest", "dav", "dav_fs", "dav_lock", "alias",
        ]
        let isSecure = kind == .secureApache
        let loading = (names + (isSecure ? ["ssl", "http2"] : [])).map {
            "LoadModule \($0)_module \(modules)/mod_\($0).so"
        }
        var access = "Require all granted"
        if let account = account.withLock({ $0 }) {
            try makePasswordFile(account)
            access = """
                AuthType \(account.scheme.rawValue)
                AuthName apus
                Auth\(account.scheme == .basic ? "Basic" : "Digest")Provider file
                AuthUserFile \(base)/accounts
                Require valid-user
                """
        }
        return """
            ServerRoot \(base)/run
            ServerName 127.0.0.1
            Listen 127.0.0.1:\(port)
            PidFile \(base)/run/pid
            ErrorLog \(base)/run/log
            \(loading.joined(separator: "\n"))
            CustomLog \(base)/run/requests "%H %m %U"
            \(isSecure ? authority.apacheSettings + "\nProtocols h2 http/1.1" : "")
            \(geteuid() == 0 ? "User www-data\nGroup www-data" : "")
            StartServers 2
            ThreadsPerChild 16
            ServerLimit 3
            MaxRequestWorkers 48
            KeepAliveTimeout \(keepAliveSeconds)
            DavLockDB \(base)/run/locks
            AllowEncodedSlashes NoDecode
            LimitRequestLine 65536
            LimitRequestFieldSize 65536
            DocumentRoot \(folder)
            RedirectMatch 500 "\(Self.failingName)"
            <Directory \(folder)>
            Dav On
            \(access)
            </Directory>

            """
    }

    private func makePasswordFile(_ account: Account) throws {
        let line: String
        switch account.scheme {
        case .basic:
            let hash = try Program.require("openssl", "passwd", "-apr1", account.password)
            line = "\(account.user):\(hash)"
        case .digest:
            let text = "\(account.user):apus:\(account.password)"
            try Files.write(Array(text.utf8), to: "\(base)/text")
            let sum = try Program.require("md5sum", "\(base)/text").prefix { $0 != " " }
            line = "\(account.user):apus:\(sum)\n"
        }
        try Files.write(Array(line.utf8), to: "\(base)/accounts.new")
        try Files.setMode(0o644, of: "\(base)/accounts.new")
        // Apache never sees half of it.
        try Files.rename("\(base)/accounts.new", to: "\(base)/accounts")
    }

    private func nginxSettings(module: String) -> String {
        """
        \(geteuid() == 0 ? "user www-data;" : "")
        load_module \(module);
        daemon off;
        pid \(base)/run/pid;
        error_log \(base)/run/log;
        events {}
        http {
            access_log off;
            client_body_temp_path \(base)/run/body;
            proxy_temp_path \(base)/run/proxy;
            fastcgi_temp_path \(base)/run/fastcgi;
            uwsgi_temp_path \(base)/run/uwsgi;
            scgi_temp_path \(base)/run/scgi;
            dav_ext_lock_zone zone=locks:10m;
            server {
                listen 127.0.0.1:\(port);
                root \(folder);
                client_max_body_size 0;
                dav_methods PUT DELETE MKCOL COPY MOVE;
                dav_ext_methods PROPFIND OPTIONS LOCK UNLOCK;
                dav_ext_lock zone=locks;
            }
        }

        """
    }
}
