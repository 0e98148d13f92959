import Foundation
import ProviderRclone
import ProviderSupport

/// rclone, which sources `rclone:` need.
enum RcloneDiagnosis {
    private static let subject = "rclone"

    static var current: Diagnosis {
        do {
            let installation = try RcloneInstallation.find(
                in: ProcessInfo.processInfo.environment)
            guard let version = installation.version else {
                return .note(subject, "\(installation.path) does not tell its version")
            }
            guard installation.isRecent else {
                return .note(
                    subject, "version \(version), too old for sources rclone:",
                    remedy: RcloneInstallation.remedy)
            }
            return .good(subject, "version \(version)")
        } catch {
            return .note(
                subject, "not on the PATH; only sources rclone: need it",
                remedy: RcloneInstallation.remedy)
        }
    }
}
