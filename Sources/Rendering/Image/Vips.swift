import CVips
import Filters

/// The state of libvips in this process.
enum Vips {
    /// Whether libvips works; starts it on first use.
    ///
    /// Each image gets one thread, because one image per core is filtered at the same time.
    static let started: Bool = apus_vips_start(1) == 0

    /// Such as `8.14.1`.
    static var version: String { String(cString: vips_version_string()) }

    /// Removes and returns the error message of libvips, as one line: the first, or that about memory,
    /// from which the others follow.
    ///
    /// All threads share the buffer, but a process has one image at a time.
    static func takeError() -> String {
        guard let text = vips_error_buffer_copy() else { return "unknown error" }
        defer { g_free(text) }
        let lines = String(cString: text).split(whereSeparator: \.isNewline).map(String.init)
        return lines.first(where: ImageError.isAboutMemory) ?? lines.first ?? "unknown error"
    }
}
