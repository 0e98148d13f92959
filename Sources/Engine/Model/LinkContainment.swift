/// Tells which symbolic links could lead out of the mount.
///
/// It looks at the target alone, never at what is there now, as that may be another thing by the time
/// that the kernel follows: so `..` after a name counts as leading out, since the name may become a
/// link. Links of which none leads out by this rule do not lead out together either.
struct LinkContainment {
    /// The names in the mount point's path; nil where nobody knows it.
    private let mountPoint: [ArraySlice<UInt8>]?

    private static let here = Array(".".utf8)
    private static let up = Array("..".utf8)

    /// - Parameter mountPoint: An absolute path without symbolic links.
    init(mountPoint: [UInt8]?) {
        self.mountPoint = mountPoint.map(Self.names)
    }

    /// In how many directories of the mount, the root not counted, a link must lie not to lead out;
    /// nil if it does so wherever it lies.
    ///
    /// - Parameter target: Where the link points, as it is.
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

/// A symbolic link, as it is and as it is to be treated.
package struct SymbolicLink: Hashable, Sendable {
    /// Where it points: 1 to 4095 bytes.
    package var target: [UInt8]
    /// Whether it is to be shown only: it came from the remote and leads out of the mount.
    package var isContained: Bool
}
