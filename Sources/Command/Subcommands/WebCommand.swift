import ArgumentParser
import Control
import Foundation
import Logging
import Transport

struct WebCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web",
        abstract: "Shows all your mounts in the browser.",
        discussion: """
            Serves a page on this machine only, opens it if there is a browser, and prints its URL, whose \
            end is a secret that gives access to your mounts. Runs until it is interrupted; the mounts \
            do not need it.

            EXAMPLES:
              apus web
              apus web --port 8384 --no-open
            """)

    @Option(help: "The port on 127.0.0.1; by default a free one.")
    var port = 0

    @Flag(inversion: .prefixedNo, help: "Open the page in the browser.")
    var open = true

    func validate() throws {
        guard (0...65_535).contains(port) else {
            throw ValidationError("--port is a number up to 65535")
        }
    }

    func run() async throws {
        var logger = Logger(label: "apus.web")
        logger.logLevel = .error
        let server = WebServer(
            port: port, token: PageToken(), transport: HTTPTransport(),
            logger: logger, mounts: UserMounts.current)
        let launcher = open ? BrowserLauncher() : nil
        defer { launcher?.cleanUp() }
        try await server.run { url in
            Console.printLine(url)
            launcher?.open(url)
        }
    }
}
