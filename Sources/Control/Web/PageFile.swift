import Hummingbird
import NIOCore

/// A file of the page; all are part of the program.
struct PageFile: Sendable {
    let name: String
    let bytes: [UInt8]

    static let all: [PageFile] = [
        PageFile(name: "index.html", bytes: PackageResources.index_html),
        PageFile(name: "style.css", bytes: PackageResources.style_css),
        PageFile(name: "icon.svg", bytes: PackageResources.icon_svg),
        PageFile(name: "main.js", bytes: PackageResources.main_js),
        PageFile(name: "api.js", bytes: PackageResources.api_js),
        PageFile(name: "format.js", bytes: PackageResources.format_js),
        PageFile(name: "dom.js", bytes: PackageResources.dom_js),
        PageFile(name: "cards.js", bytes: PackageResources.cards_js),
        PageFile(name: "changes.js", bytes: PackageResources.changes_js),
        PageFile(name: "attention.js", bytes: PackageResources.attention_js),
        PageFile(name: "conflicts.js", bytes: PackageResources.conflicts_js),
        PageFile(name: "transfers.js", bytes: PackageResources.transfers_js),
        PageFile(name: "plot.js", bytes: PackageResources.plot_js),
        PageFile(name: "toolbar.js", bytes: PackageResources.toolbar_js),
        PageFile(name: "tree.js", bytes: PackageResources.tree_js),
        PageFile(name: "rows.js", bytes: PackageResources.rows_js),
    ]

    /// The path of the URL; `index.html` is the root.
    var path: String { name == "index.html" ? "/" : "/\(name)" }

    static func isServed(at path: String) -> Bool { all.contains { $0.path == path } }

    var response: Response {
        Response(
            status: .ok, headers: [.contentType: mediaType],
            body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    private var mediaType: String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "svg": "image/svg+xml"
        default: "text/javascript; charset=utf-8"
        }
    }
}
