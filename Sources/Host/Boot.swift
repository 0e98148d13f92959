import Foundation

/// The current run of this machine's kernel.
package enum Boot {
    /// An identifier that changes with each boot. Linux: `/proc/sys/kernel/random/boot_id`.
    ///
    /// If it cannot be read, the identifier is new on each call, so that all data that a power cut
    /// may have damaged is distrusted.
    package static var identifier: String {
        let path = "/proc/sys/kernel/random/boot_id"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            return UUID().uuidString
        }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
