import Foundation

extension WatchFrame.Style {
    /// How to draw on a terminal; nil if `descriptor` is not one, or one that cannot move its
    /// cursor.
    package init?(ofTerminal descriptor: Int32) {
        let environment = ProcessInfo.processInfo.environment
        guard isatty(descriptor) == 1, environment["TERM"] != "dumb" else { return nil }
        var size = winsize()
        _ = ioctl(descriptor, UInt(TIOCGWINSZ), &size)
        // POSIX: the first one that is set decides.
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { environment[$0] }
            .first { !$0.isEmpty }
        let encoding = locale?.uppercased().replacing("-", with: "") ?? ""
        self.init(
            columns: size.ws_col > 0 ? Int(size.ws_col) : 80,
            rows: size.ws_row > 0 ? Int(size.ws_row) : 24,
            // See no-color.org.
            isColoured: environment["NO_COLOR"]?.isEmpty != false,
            isUnicode: encoding.contains("UTF8"))
    }
}
