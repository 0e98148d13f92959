/// Decides which symbolic links could lead out of the mount.
///
/// It considers only the target, not the objects in its path, which may be replaced before the
/// kernel follows the link. So `..` after a name counts as leading out, because the name may become
/// a link. Links that each stay inside by this rule also stay inside when combined.
struct LinkContainment {
    /// The components of the mount point's path; nil if it is unknown.
    private let mountPoint: [ArraySlice<UInt8>]?

    private static let here = Array(".".utf8)
    private static let up = Array("..".utf8)

    /// - Parameter mountPoint: An absolute path without symbolic links.
    init(mountPoint: [UInt8]?) {
        self.mountPoint = mountPoint.map(Self.names)
    }

    /// Returns the depth in the mount, with the root at 0, at which a link must lie to stay inside;
    /// nil if it leads out from any depth.
    ///
    /// - Parameter target: The target of the link, unchanged.
    func depthNeeded(_ target: [UInt8]) -> Int? {
        let names = Self.names(target)
        let climbs: Int
        let rest: ArraySlice<ArraySlice<UInt8>>
        if target.first == UInt8(ascii: "/") {
            guard let mountPoint, names.starts(with: mountPoint) else { return nil }
            climbs = 0
            rest = names.dropFirst(mountPoint.count)
        } else {
            climbs = names.prefix { $0.elementsEqual(Self.up) }.count
            rest = names.dropFirst(climbs)
        }
        return rest.contains { $0.elementsEqual(Self.up) } ? nil : climbs
    }

    private static func names(_ path: [UInt8]) -> [ArraySlice<UInt8>] {
        path.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(here) }
    }
}

/// The target of a symbolic link, and whether the link may be followed.
package struct SymbolicLink: Hashable, Sendable {
    /// The target: 1 to 4095 bytes.
    package var target: [UInt8]
    /// Whether the link is only shown: it came from the remote and leads out of the mount.
    package var isContained: Bool
}
