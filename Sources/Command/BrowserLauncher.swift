import Control
import Foundation
import Synchronization
import SystemCalls

/// Opens a page in the user's browser.
///
/// The URL is in a file that only the user can read, since all users can read the arguments of programs.
final class BrowserLauncher: Sendable {
    private let file = Mutex<URL?>(nil)

    /// Does nothing if there is no browser: the URL is printed as well.
    func open(_ url: String) {
        guard let opener = Self.opener, let page = try? Self.makeRedirect(to: url) else { return }
        file.withLock { $0 = page }
        let program = Process()
        program.executableURL = opener
        program.arguments = [page.path(percentEncoded: false)]
        program.standardOutput = FileHandle.nullDevice
        program.standardError = FileHandle.nullDevice
        try? program.run()
    }

    /// Removes the file.
    func cleanUp() {
        file.withLock { file in
            if let url = file.take() { try? FileManager.default.removeItem(at: url) }
        }
    }

    private static var opener: URL? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return ProgramPath.find("xdg-open", in: path).map { URL(filePath: $0) }
    }

    private static func makeRedirect(to url: String) throws -> URL {
        let folder =
            ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"]
            .map { URL(filePath: $0) } ?? FileManager.default.temporaryDirectory
        let page = folder.appending(path: "apus-web-\(UUID().uuidString).html")
        let html = """
            <!DOCTYPE html><meta charset="utf-8"><title>Apus</title>
            <meta http-equiv="refresh" content="0; url=\(url)"><a href="\(url)">Apus</a>
            """
        let file = try Descriptor(
            opening: page.path(percentEncoded: false), flags: O_WRONLY | O_CREAT | O_EXCL,
            mode: 0o600)
        try PosixIO.write(file.rawValue, Array(html.utf8))
        return page
    }
}
