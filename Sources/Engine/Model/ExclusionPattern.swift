import Glibc

/// A pattern of names that are neither taken from the remote nor sent, in the manner of rsync and git.
///
/// One without a slash is for a name in any directory, one with a slash for a path from the root. `*`, `?` and
/// `[…]` stand for characters of one name, see fnmatch(3), `**` as a whole component for any number of
/// directories. A slash at the end restricts it to directories.
package struct ExclusionPattern: Hashable, Sendable {
    private enum Component: Hashable {
        case name(Glob)
        /// `**`
        case anyDirectories
    }

    /// As it was given.
    package let text: String
    private let components: [Component]
    private let isForDirectories: Bool

    /// - Throws: ``Refusal`` for a pattern that stands for no name, or is meant in a way that is not supported.
    package init(_ text: String) throws(Refusal) {
        self.text = text
        let bytes = Array(text.utf8)
        let slash = UInt8(ascii: "/")
        if bytes.contains(0) || bytes.contains(UInt8(ascii: "\n")) {
            throw Refusal(why: "it has a line break or a NUL", remedy: "write ? in its place")
        }
        if bytes.first == UInt8(ascii: "!") {
            throw Refusal(
                why: "patterns that include again what others exclude are not supported",
                remedy: "write \\! for a name that begins with an exclamation mark")
        }
        let parts = bytes.split(separator: slash)
        guard !parts.isEmpty, !parts.contains([0x2E]), !parts.contains([0x2E, 0x2E]) else {
            throw Refusal(
                why: "it stands for no name",
                remedy: "write a name such as .DS_Store, or a path from the mount point such as "
                    + "build/*.o")
        }
        isForDirectories = bytes.last == slash
        let components = parts.map { part in
            part.elementsEqual("**".utf8) ? Component.anyDirectories : .name(Glob(part))
        }
        let isPath = bytes.dropLast().contains(slash)
        self.components = isPath ? components : [.anyDirectories] + components
    }

    /// Why a text is not a pattern.
    package struct Refusal: Error {
        package let why: String
        package let remedy: String
    }

    /// Whether it is for the names of any directory.
    var isForNames: Bool {
        components.count == 2 && components[0] == .anyDirectories
            && components[1] != .anyDirectories
    }

    /// Whether it stands for an item itself, not only for a directory above it.
    ///
    /// - Parameter path: From the root, at least one name.
    func matches(_ path: ArraySlice<FileName>, isDirectory: Bool) -> Bool {
        guard let name = path.last, mayMatch(name, isDirectory: isDirectory) else { return false }
        return isForNames || Self.matches(path, components[...])
    }

    /// Whether the last component stands for a name: a quick no for nearly all.
    func mayMatch(_ name: FileName, isDirectory: Bool) -> Bool {
        if isForDirectories, !isDirectory { return false }
        guard case .name(let glob)? = components.last else { return true }
        return glob.matches(name)
    }

    private static func matches(
        _ path: ArraySlice<FileName>, _ components: ArraySlice<Component>
    ) -> Bool {
        var (path, components) = (path, components)
        while let component = components.popFirst() {
            switch component {
            case .name(let glob):
                guard let name = path.popFirst(), glob.matches(name) else { return false }
            case .anyDirectories:
                // At the end, it is for all that is below.
                if components.isEmpty { return !path.isEmpty }
                return (path.startIndex...path.endIndex).contains {
                    matches(path[$0...], components)
                }
            }
        }
        return path.isEmpty
    }

    /// A component with the characters of fnmatch(3).
    private struct Glob: Hashable {
        /// With a NUL at its end.
        private let pattern: [CChar]
        /// The name, if nothing in it has a meaning of its own.
        private let literal: [UInt8]?

        init(_ bytes: ArraySlice<UInt8>) {
            pattern = bytes.map { CChar(bitPattern: $0) } + [0]
            literal = bytes.contains { "*?[\\".utf8.contains($0) } ? nil : Array(bytes)
        }

        func matches(_ name: FileName) -> Bool {
            if let literal { return literal == name.bytes }
            let name = name.bytes.map { CChar(bitPattern: $0) } + [0]
            return fnmatch(pattern, name, 0) == 0
        }
    }
}

/// The patterns of `--exclude`.
package struct Exclusions: Hashable, Sendable {
    private let patterns: [ExclusionPattern]

    package init(_ patterns: [ExclusionPattern] = []) {
        self.patterns = patterns
    }

    package var isEmpty: Bool { patterns.isEmpty }

    /// Whether a directory that is renamed may take names into or out of exclusion.
    var dependOnPaths: Bool { patterns.contains { !$0.isForNames } }

    /// The patterns, for comparison with those of the last mount.
    var text: String { patterns.map(\.text).joined(separator: "\n") }

    /// Whether an item, or a directory above it, is excluded.
    ///
    /// - Parameter path: From the root.
    package func contain(_ path: [FileName], isDirectory: Bool) -> Bool {
        if isEmpty { return false }
        return path.indices.contains { index in
            match(path[...index], isDirectory: isDirectory || index < path.count - 1)
        }
    }

    /// Returns the objects of a directory without the excluded ones.
    ///
    /// - Parameter isShown: Whether one of this name is not left out although it is excluded.
    func visible(
        _ objects: [RemoteObject], in directory: ObjectKey,
        except isShown: (FileName) throws -> Bool
    ) rethrows -> [RemoteObject] {
        let path = directory.names
        let isBelowExcluded = contain(path, isDirectory: true)
        return try objects.filter { object in
            let isHidden =
                isBelowExcluded
                || match((path + [object.name])[...], isDirectory: object.kind == .directory)
            return try !isHidden || isShown(object.name)
        }
    }

    /// Whether a pattern may stand for an item of a name, in whatever directory.
    func mayMatch(_ name: FileName, isDirectory: Bool) -> Bool {
        patterns.contains { $0.mayMatch(name, isDirectory: isDirectory) }
    }

    /// Whether a pattern stands for an item itself.
    func match(_ path: ArraySlice<FileName>, isDirectory: Bool) -> Bool {
        patterns.contains { $0.matches(path, isDirectory: isDirectory) }
    }
}
