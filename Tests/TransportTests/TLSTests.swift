import Foundation
import Testing
import Transport

@Suite(.timeLimit(.minutes(2)))
struct TLSTests {
    @Test func `only a certificate of a trusted authority is accepted`() async throws {
        try await TLSServer.run { server in
            let request = HTTPRequest(.get, "https://127.0.0.1:\(server.port)/path")
            let error = await #expect(throws: TransportError.self) {
                try await HTTPTransport().send(request)
            }
            #expect(error?.kind == .tls, "\(error?.reason ?? "")")

            var options = TransportOptions()
            options.caFile = server.certificate
            let (response, body) = try await HTTPTransport(options).send(request)
            #expect(response.status == 200)
            #expect(body == Array("/path".utf8))

            let other = await #expect(throws: TransportError.self) {
                try await HTTPTransport(options).send(
                    HTTPRequest(.get, "https://localhost:\(server.port)/path"))
            }
            #expect(other?.kind == .tls, "the name is not the certificate's")
        }
    }

    @Test func `with a missing file of authorities every certificate is refused`() async throws {
        try await TLSServer.run { server in
            var options = TransportOptions()
            options.caFile = "/nonexistent.pem"
            let error = await #expect(throws: TransportError.self) {
                try await HTTPTransport(options).send(
                    HTTPRequest(.get, "https://127.0.0.1:\(server.port)/"))
            }
            #expect(error?.kind == .tls)
        }
    }
}

/// Python's HTTPS server with a self-made certificate for 127.0.0.1.
private final class TLSServer {
    let certificate: String
    let port: Int
    private let directory: URL
    private let process: Child

    /// Serves while `body` runs.
    static func run(_ body: (TLSServer) async throws -> Void) async throws {
        let server = try await TLSServer()
        let result: Result<Void, any Error>
        do { result = .success(try await body(server)) } catch { result = .failure(error) }
        await server.process.stop()
        try? FileManager.default.removeItem(at: server.directory)
        try result.get()
    }

    private init() async throws {
        directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("apus-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        certificate = directory.appendingPathComponent("cert.pem").path
        let key = directory.appendingPathComponent("key.pem").path
        let maker = try Child([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2", "-keyout", key, "-out", certificate, "-subj", "/CN=test",
            "-addext", "subjectAltName=IP:127.0.0.1",
        ])
        await maker.end()
        process = try Child(["python3", "-c", Self.program, certificate, key])
        port = try #require(Int(process.firstLine()))
    }

    /// Prints its port, then answers each request with its path.
    private static let program = """
        import http.server, ssl, sys
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = self.path.encode()
                self.send_response(200)
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        print(server.server_address[1], flush=True)
        server.serve_forever()
        """
}

/// A program that runs beside the test.
private final class Child: Sendable {
    private let identifier: Int32
    private let output = Pipe()
    private let ended: AsyncStream<Void>

    init(_ command: [String]) throws {
        let process = Process()
        let (ended, hasEnded) = AsyncStream<Void>.makeStream()
        self.ended = ended
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.terminationHandler = { _ in hasEnded.finish() }
        try process.run()
        identifier = process.processIdentifier
    }

    func firstLine() -> String {
        String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Waits until it ends by itself.
    func end() async {
        for await _ in ended {}
    }

    func stop() async {
        // Not SIGTERM, which this process may make its children ignore.
        kill(identifier, SIGKILL)
        await end()
    }
}
