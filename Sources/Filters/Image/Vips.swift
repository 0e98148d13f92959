import CVips
import Glibc

/// libvips as a whole.
enum Vips {
    /// Starts libvips on first use.
    ///
    /// Each image has one thread, because as many images as there are cores are worked on at once.
    static let started: Bool = apus_vips_start(1) == 0

    /// What libvips last complained about, as one line; the complaint is gone afterwards.
    ///
    /// The buffer belongs to the process: where two images fail in the same moment, either may be
    /// told the other's reason.
    static func takeError() -> String {
        guard let text = vips_error_buffer_copy() else { return "unknown error" }
        defer { g_free(text) }
        let lines = String(cString: text).split(whereSeparator: \.isNewline)
        return lines.first.map(String.init) ?? "unknown error"
    }

    /// Frees what libvips holds for the calling thread. To be called before the thread ends.
    static func leaveThread() {
        vips_thread_shutdown()
    }
}
