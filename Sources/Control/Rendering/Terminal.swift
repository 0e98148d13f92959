import Foundation

/// The terminal that shows a command's output.
package enum Terminal {
    /// Returns the width of a terminal; if `descriptor` is not one, `COLUMNS`, or nil without it.
    package static func columns(of descriptor: Int32) -> Int? {
        var size = winsize()
        if ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 {
            return Int(size.ws_col)
        }
        return ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) }
    }
}

/// Returns a number with its noun: `1 item`, `2 items`.
package func counted(_ number: some BinaryInteger, _ one: String, _ many: String) -> String {
    "\(number) \(number == 1 ? one : many)"
}

extension String {
    /// Without line ends and other control characters, as a file name must not control a terminal.
    package var singleLine: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : $0 }))
    }
}
