import Foundation
import Glibc
import Testing

/// A headless Chromium with one page, steered through its DevTools protocol over two pipes.
final class Chromium {
    /// The installed program; nil if there is none.
    static let path = ["chromium", "chromium-browser", "google-chrome"].lazy
        .compactMap { name in
            (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
                .map { "\($0)/\(name)" }
                .first { FileManager.default.isExecutableFile(atPath: $0) }
        }.first

    private static let answerLimit: TimeInterval = 60

    private let program: Program
    private let commands: FileHandle
    private let answers: FileHandle
    private var received: [UInt8] = []
    private var count = 0
    private var session: String?
    /// Exceptions, refusals of the content security policy, and errors written to the console.
    private(set) var complaints: [String] = []

    /// Runs `body` with a page, and ends the browser whatever happens.
    static func with(_ url: String, _ body: (Chromium) throws -> Void) throws {
        let folder = try Files.makeTemporaryDirectory("c")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let browser = try Chromium(folder)
        defer { browser.end() }
        try browser.open(url)
        try body(browser)
    }

    private init(_ folder: String) throws {
        let path = try #require(Self.path, "Chromium is not installed; run scripts/setup")
        let pipes = ["\(folder)/commands", "\(folder)/answers"]
        for pipe in pipes { try CallError.check(mkfifo(pipe, 0o600), "mkfifo \(pipe)") }
        // For both directions, so that neither end waits for the other.
        let ends = try pipes.map { pipe in
            FileHandle(
                fileDescriptor: try CallError.check(
                    Glibc.open(pipe, O_RDWR | O_CLOEXEC), "open \(pipe)"), closeOnDealloc: true)
        }
        (commands, answers) = (ends[0], ends[1])
        program = try Program.start([
            "sh", "-c", #"exec 3<"$1" 4>"$2"; shift 2; exec "$@""#, "sh", pipes[0], pipes[1],
            path, "--headless", "--remote-debugging-pipe", "--user-data-dir=\(folder)/profile",
            // Root has no sandbox, and a container little shared memory.
            "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run",
            "--disable-extensions", "--disable-background-networking", "--hide-scrollbars",
        ])
    }

    private func open(_ url: String) throws {
        let target = try send("Target.createTarget", ["url": "about:blank"])["targetId"] as? String
        let attached = try send(
            "Target.attachToTarget", ["targetId": try #require(target), "flatten": true])
        session = try #require(attached["sessionId"] as? String)
        for domain in ["Page", "Runtime", "Log"] { try send("\(domain).enable") }
        try show(width: 1100, height: 900, isDark: false)
        try send("Page.navigate", ["url": url])
    }

    private func end() {
        session = nil
        _ = try? send("Browser.close")
        program.killAll()
        _ = try? program.wait()
    }

    // MARK: The page

    /// Sets the size of the window and the colours that the user prefers.
    func show(width: Int, height: Int, isDark: Bool) throws {
        try send(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": false])
        let colours = ["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"]
        try send("Emulation.setEmulatedMedia", ["features": [colours]])
    }

    /// Returns the value of an expression, that of its promise if it is one.
    @discardableResult
    func evaluate(_ expression: String) throws -> Any? {
        let answer = try send(
            "Runtime.evaluate",
            ["expression": expression, "returnByValue": true, "awaitPromise": true])
        if let failure = answer["exceptionDetails"] {
            throw ChromiumFailure(reason: "\(expression): \(failure)")
        }
        return (answer["result"] as? [String: Any])?["value"]
    }

    /// Returns once an expression is true.
    func await(
        _ what: String, _ expression: String, within limit: Duration = .seconds(60),
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        do {
            try eventually(what, within: limit, sourceLocation: sourceLocation) {
                try evaluate(expression) as? Bool == true
            }
        } catch {
            print("The page shows:\n\(try evaluate("document.body.innerText") ?? "")")
            throw error
        }
    }

    /// Presses a key: `ArrowDown`, `Enter`, ` `.
    func press(_ key: String, isShifted: Bool = false) throws {
        let code = ["Tab": 9, "Enter": 13, " ": 32][key] ?? 0
        var event: [String: Any] = [
            "type": "keyDown", "key": key, "code": key == " " ? "Space" : key,
            "windowsVirtualKeyCode": code, "modifiers": isShifted ? 8 : 0,
        ]
        if let text = ["Enter": "\r", " ": " "][key] { event["text"] = text }
        try send("Input.dispatchKeyEvent", event)
        event["type"] = "keyUp"
        event["text"] = nil
        try send("Input.dispatchKeyEvent", event)
    }

    /// Returns a picture of the part in sight, a PNG.
    func picture() throws -> Data {
        let answer = try send("Page.captureScreenshot", ["format": "png"])
        let text = try #require(answer["data"] as? String)
        return try #require(Data(base64Encoded: text))
    }

    // MARK: The protocol

    /// Sends a command, and returns the answer to it.
    @discardableResult
    private func send(_ method: String, _ parameters: [String: Any] = [:]) throws -> [String: Any] {
        count += 1
        var command: [String: Any] = ["id": count, "method": method, "params": parameters]
        command["sessionId"] = session
        try commands.write(
            contentsOf: try JSONSerialization.data(withJSONObject: command) + [0])
        let deadline = Date(timeIntervalSinceNow: Self.answerLimit)
        while let message = try next(until: deadline) {
            guard message["id"] as? Int == count else {
                note(message)
                continue
            }
            if let failure = message["error"] {
                throw ChromiumFailure(reason: "\(method): \(failure)")
            }
            return message["result"] as? [String: Any] ?? [:]
        }
        throw ChromiumFailure(reason: "\(method): no answer\n\(program.errorsSoFar)")
    }

    /// Returns the next message; nil if there is none in time, or the browser has ended.
    private func next(until deadline: Date) throws -> [String: Any]? {
        while true {
            if let end = received.firstIndex(of: 0) {
                let message = Data(received[..<end])
                received.removeSubrange(...end)
                return try JSONSerialization.jsonObject(with: message) as? [String: Any]
            }
            var entry = pollfd(fd: answers.fileDescriptor, events: Int16(POLLIN), revents: 0)
            guard Date() < deadline, program.isRunning else { return nil }
            guard poll(&entry, 1, 100) > 0 else { continue }
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            let number = read(answers.fileDescriptor, &buffer, buffer.count)
            if number > 0 { received += buffer[..<number] }
        }
    }

    private func note(_ event: [String: Any]) {
        let parameters = event["params"] as? [String: Any]
        switch event["method"] as? String {
        case "Runtime.exceptionThrown": complaints.append("\(parameters ?? [:])")
        case "Log.entryAdded":
            // A refusal by the server is no fault of the page.
            guard let entry = parameters?["entry"] as? [String: Any],
                entry["level"] as? String == "error", entry["source"] as? String != "network"
            else { return }
            complaints.append("\(entry["text"] ?? "") \(entry["url"] ?? "")")
        default: break
        }
    }
}

/// A failure of the browser or of a script in it.
struct ChromiumFailure: Error {
    var reason: String
}
