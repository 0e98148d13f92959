import Foundation

/// The time since this machine was started.
package enum Boot {
    /// Another one after each start of the machine. Linux: `/proc/sys/kernel/random/boot_id`.
    ///
    /// Where the kernel does not tell, another one each time: then nothing that may have been lost
    /// in a power cut is believed.
    package static var identifier: String {
        let path = "/proc/sys/kernel/random/boot_id"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            return UUID().uuidString
        }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
