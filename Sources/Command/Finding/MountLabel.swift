import Host
import Providers

/// The source column of an Apus mount in the kernel's table of mounts.
///
/// It holds the source as `apus mount` takes it, followed by `#state-dir=` and the state directory
/// unless that is the conventional one of this source and user. The state of a mount is therefore
/// known even if its daemon is dead, in any environment.
struct MountLabel: Hashable {
    let source: String
    /// nil if the user has no conventional directory, or the source is of another version.
    let stateDirectory: String?

    private static let separator = "#state-dir="

    init(source: String, stateDirectory: String?) {
        self.source = source
        self.stateDirectory = stateDirectory
    }

    /// - Parameter userID: Of the user who mounted.
    init(parsing text: String, userID: UInt32?) {
        if let separator = text.ranges(of: Self.separator).last {
            source = String(text[..<separator.lowerBound])
            stateDirectory = String(text[separator.upperBound...])
        } else {
            source = text
            stateDirectory = userID.flatMap { Self.conventionalState(of: text, userID: $0) }
        }
    }

    /// - Parameter userID: Of the user who mounts.
    func text(userID: UInt32) -> String {
        guard let stateDirectory,
            stateDirectory != Self.conventionalState(of: source, userID: userID)
                || source.contains(Self.separator)
        else { return source }
        return source + Self.separator + stateDirectory
    }

    private static func conventionalState(of source: String, userID: UInt32) -> String? {
        guard let source = try? Source(parsing: source) else { return nil }
        return StateDirectory.conventionalPath(name: source.stateName, userID: userID)
    }
}
