import Glibc
import Testing

/// A forward proxy of a test's own on 127.0.0.1: Apache's mod_proxy, with CONNECT to any port.
final class ProxyServer: Sendable {
    private let base: String
    private let port: UInt16

    /// Its address as `http_proxy` takes it.
    var url: String { "http://127.0.0.1:\(port)" }

    /// The requests that it was sent, one line each: `GET http://…`, `CONNECT 127.0.0.1:…`.
    var requests: [String] {
        let text = (try? Files.read("\(base)/requests")) ?? []
        return String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Starts a proxy, and ends it after `body` whatever happens.
    static func with(_ body: (ProxyServer) async throws -> Void) async throws {
        let proxy = try ProxyServer()
        defer { _ = try? Program.run("rm", "-rf", "--one-file-system", proxy.base) }
        let program = try Program.start(
            ["/usr/sbin/apache2", "-f", "\(proxy.base)/settings", "-DFOREGROUND"],
            limitSeconds: Program.serverLimitSeconds)
        defer {
            program.signal(SIGTERM)
            _ = try? program.wait()
        }
        try eventually("the proxy answers") {
            try #require(program.isRunning)
            return LocalSocket.answers(proxy.port)
        }
        try await body(proxy)
    }

    private init() throws {
        base = try Files.makeTemporaryDirectory("p")
        port = try LocalSocket.freePorts(1)[0]
        let names = [
            "mpm_event", "authz_core", "proxy", "proxy_http", "proxy_connect",
        ]
        let loading = names.map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }
        let settings = """
            ServerRoot \(base)
            ServerName 127.0.0.1
            Listen 127.0.0.1:\(port)
            PidFile \(base)/pid
            ErrorLog \(base)/log
            \(loading.joined(separator: "\n"))
            \(geteuid() == 0 ? "User www-data\nGroup www-data" : "")
            CustomLog \(base)/requests "%r"
            ProxyRequests On
            AllowCONNECT 1-65535

            """
        try Files.write(Array(settings.utf8), to: "\(base)/settings")
    }
}
