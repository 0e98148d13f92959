import Foundation

/// Selects the deliberate bug that this process has, by the environment variable `APUS_BUG`.
///
/// `scripts/soak-bugs` copies this file into the engine and applies the patches beside it, each of
/// which adds one bug behind this switch.
enum DeliberateBug {
    private static let made = ProcessInfo.processInfo.environment["APUS_BUG"]

    static func isMade(_ name: String) -> Bool { name == made }
}
