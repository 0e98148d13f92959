import Foundation

/// The mounts that this process sees, from `/proc/self/mountinfo`; see proc(5).
package struct MountTable: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        /// Absolute, without symbolic links.
        package let mountPoint: String
        /// `fuse.apus`, `ext4`.
        package let fileSystem: String
        /// What is mounted, in the file system's own words.
        package let source: String

        package var isApus: Bool { fileSystem == "fuse.apus" }
    }

    /// In the order of mounting, so that a later one hides an earlier one at the same place.
    package let entries: [Entry]

    /// - Parameter text: What `/proc/self/mountinfo` holds; lines of another form are passed over.
    package init(parsing text: String) {
        entries = text.split(separator: "\n").compactMap(Self.entry)
    }

    /// The mounts of this moment.
    package static func current() throws(ControlError) -> MountTable {
        do {
            // It has no size, comes in pieces of a page, and is read to its end.
            let file = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/mountinfo"))
            var bytes = Data()
            while let piece = try file.read(upToCount: 64 << 10), !piece.isEmpty { bytes += piece }
            return MountTable(parsing: String(decoding: bytes, as: UTF8.self))
        } catch {
            throw ControlError(
                .failed, what: "read /proc/self/mountinfo", why: error.localizedDescription)
        }
    }

    /// The mount that shows at `path` or above, whatever its kind.
    ///
    /// - Parameter path: Absolute, without symbolic links, `.` and `..`.
    package func mount(above path: String) -> Entry? {
        entries.filter { $0.holds(path) }.reduce(nil) { best, entry in
            guard let best, best.mountPoint.utf8.count > entry.mountPoint.utf8.count else {
                return entry
            }
            return best
        }
    }

    /// The mount at exactly this path that hides all others there.
    package func mount(at path: String) -> Entry? {
        entries.last { $0.mountPoint == path }
    }

    /// The Apus mounts that are not hidden by another mount at the same place, one for each place.
    package var apusMounts: [Entry] {
        entries.indices
            .filter { index in
                !entries[(index + 1)...].contains { $0.mountPoint == entries[index].mountPoint }
            }
            .map { entries[$0] }
            .filter(\.isApus)
    }

    private static func entry(_ line: Substring) -> Entry? {
        let fields = line.split(separator: " ", omittingEmptySubsequences: false)
        guard let separator = fields.firstIndex(of: "-"), separator >= 6,
            fields.count > separator + 2
        else { return nil }
        return Entry(
            mountPoint: unescape(fields[4]), fileSystem: unescape(fields[separator + 1]),
            source: unescape(fields[separator + 2]))
    }

    /// The kernel writes space, tab, line end and backslash as three octal digits.
    private static func unescape(_ field: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = field.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), let code = UInt8(String(rest.prefix(3)) ?? "", radix: 8)
            {
                bytes.append(code)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension MountTable.Entry {
    func holds(_ path: String) -> Bool {
        mountPoint == "/" || path == mountPoint || path.hasPrefix(mountPoint + "/")
    }

    /// `path` from this mount point on, as ``MountService`` wants it.
    package func relative(_ path: String) -> String {
        path.dropFirst(mountPoint.count).split(separator: "/").joined(separator: "/")
    }
}
