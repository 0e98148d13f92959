package import Engine

/// The space that local copies leave free on the disk of the state directory.
package enum KeepFree: Hashable, Sendable {
    /// A tenth of the disk, 5 GiB at most.
    case standard
    case bytes(UInt64)
    /// 0 to 99.
    case percent(UInt64)

    private static let standardMax: UInt64 = 5 << 30

    /// As `apus mount` takes it; nil for the default.
    package var text: String? {
        switch self {
        case .standard: nil
        case .bytes(let bytes): "\(bytes)"
        case .percent(let share): "\(share)%"
        }
    }

    /// - Parameter space: Of the file system that holds the state directory.
    package func bytes(of space: StorageSpace) -> UInt64 {
        switch self {
        case .standard: min(space.totalBytes / 10, Self.standardMax)
        case .bytes(let bytes): bytes
        case .percent(let share): space.totalBytes / 100 * share
        }
    }
}
