import Foundation

/// The current boot of this machine.
package enum Boot {
    /// A different value after each start of the machine. Linux: `/proc/sys/kernel/random/boot_id`.
    ///
    /// If the kernel has none, a new value each time, so that bytes that a power cut may have taken
    /// are never trusted.
    package static var identifier: String {
        let path = "/proc/sys/kernel/random/boot_id"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            return UUID().uuidString
        }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
