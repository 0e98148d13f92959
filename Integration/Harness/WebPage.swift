import Foundation
import Glibc
import Testing

/// The page of `apus web` in a browser.
struct WebPage {
    let browser: Chromium

    /// Starts `apus web`, opens its page, and ends both whatever happens.
    static func with(
        _ options: String..., body: (WebPage) throws -> Void
    ) throws {
        try serving(options) { url, _ in
            try Chromium.with(url) { browser in
                try body(WebPage(browser: browser))
                #expect(browser.complaints.isEmpty)
            }
        }
    }

    /// Runs `apus web` until `body` returns.
    ///
    /// - Parameter body: Is given the URL that was printed.
    static func serving(
        _ options: [String] = [], environment: [String: String] = [:],
        _ body: (_ url: String, Program) throws -> Void
    ) throws {
        let server = try Apus.start(["web", "--no-open"] + options, environment: environment)
        defer { server.killAll() }
        try eventually("apus web prints its URL") {
            try #require(server.isRunning, "\(server.errorsSoFar)")
            return server.outputSoFar.hasSuffix("\n")
        }
        try body(server.outputSoFar.trimmingCharacters(in: .whitespacesAndNewlines), server)
        guard server.isRunning else { return }
        server.signal(SIGTERM)
        try server.wait().expectSuccess()
    }

    /// Chooses the card of a mount, and waits for its files.
    func choose(_ folder: MountedFolder) throws {
        try browser.await("the card of \(folder.point)", "!!\(card(of: folder))")
        try browser.evaluate("\(card(of: folder)).click()")
        try browser.await(
            "its files", "!!document.querySelector('#tree [role=treeitem], #tree .note')")
    }

    func card(of folder: MountedFolder) -> String {
        "[...document.querySelectorAll('.card')].find((card) => "
            + "card.querySelector('.mount-point').textContent === \(quoted(folder.point)))"
    }

    /// The row of a path, as an expression.
    func row(_ path: String) -> String {
        "[...document.querySelectorAll('[role=treeitem]')].find((row) => "
            + "row.querySelector('.name').title === \(quoted(path)))"
    }

    /// Opens a folder by its twisty.
    func open(_ path: String) throws {
        try browser.await("the row of \(path)", "!!\(row(path))")
        try browser.evaluate("\(row(path)).querySelector('.twisty').click()")
    }

    /// Selects a path by a click; besides others with `adds`.
    func select(_ path: String, adds: Bool = false) throws {
        try browser.await("the row of \(path)", "!!\(row(path))")
        try browser.evaluate(
            "\(row(path)).dispatchEvent(new MouseEvent('click', "
                + "{bubbles: true, ctrlKey: \(adds)}))")
        try browser.await(
            "\(path) is selected", "\(row(path)).getAttribute('aria-selected') === 'true'")
    }

    /// Presses a button with this text, in the element of a selector.
    func click(_ text: String, in selector: String = "#toolbar") throws {
        let button =
            "[...document.querySelectorAll(\(quoted(selector + " button")))].find((button) => "
            + "button.textContent === \(quoted(text)) && !button.disabled)"
        try browser.await("the button \(text)", "!!\(button)")
        try browser.evaluate("\(button).click()")
    }

    /// Waits for words in an element.
    func await(
        _ words: String, in selector: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try browser.await(
            "\(selector) has \"\(words)\"",
            "(document.querySelector(\(quoted(selector)))?.innerText ?? '').includes(\(quoted(words)))",
            sourceLocation: sourceLocation)
    }

    /// Waits for a state of a row.
    func await(
        state: String, of path: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try browser.await(
            "\(path) is \(state)",
            "\(row(path))?.querySelector('.state').dataset.state === \(quoted(state))",
            sourceLocation: sourceLocation)
    }

    private func quoted(_ text: String) -> String {
        let json = try? JSONEncoder().encode(text)
        return json.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
