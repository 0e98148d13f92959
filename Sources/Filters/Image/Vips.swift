import CVips
import Synchronization

/// The state of libvips in this process.
enum Vips {
    /// Whether libvips works; starts it on first use.
    ///
    /// Each image gets one thread, because one image per core is filtered at the same time.
    static let started: Bool = {
        let started = apus_vips_start(1) == 0
        isUsable.store(started, ordering: .releasing)
        return started
    }()

    private static let isUsable = Atomic(false)

    /// Removes and returns the last error message of libvips, as one line.
    ///
    /// All threads share the buffer: if two images fail at the same moment, their messages may be
    /// swapped.
    static func takeError() -> String {
        guard let text = vips_error_buffer_copy() else { return "unknown error" }
        defer { g_free(text) }
        let lines = String(cString: text).split(whereSeparator: \.isNewline)
        return lines.first.map(String.init) ?? "unknown error"
    }

    /// Frees the resources of libvips for the calling thread; to be called before the thread ends.
    ///
    /// A thread can end before any image has been loaded; before it is started, libvips crashes here.
    static func leaveThread() {
        if isUsable.load(ordering: .acquiring) { vips_thread_shutdown() }
    }
}
