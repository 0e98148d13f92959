import Foundation

/// The mounts that are visible to this process, from `/proc/self/mountinfo`; see proc(5).
package struct MountTable: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        /// The number of the device, `8:1`, which all mounts of one file system share.
        package let device: String
        /// The directory of the file system that is mounted here; not `/` for a bind mount.
        package let root: String
        /// Absolute, without symbolic links.
        package let mountPoint: String
        /// `fuse.apus`, `ext4`.
        package let fileSystem: String
        /// The mounted device or share; its form depends on the file system.
        package let source: String
        /// The user who mounted, if the file system reports it, as FUSE does.
        package let userID: UInt32?

        package var isApus: Bool { fileSystem == "fuse.apus" }
    }

    /// In the order of mounting: a later one hides an earlier one at the same place.
    package let entries: [Entry]

    /// - Parameter text: The contents of `/proc/self/mountinfo`; malformed lines are ignored.
    package init(parsing text: String) {
        entries = text.split(separator: "\n").compactMap(Self.entry)
    }

    /// Reads the current table.
    package static func current() throws(ControlError) -> MountTable {
        do {
            // The file has no size and yields about a page per read.
            let file = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/mountinfo"))
            var bytes = Data()
            while let piece = try file.read(upToCount: 64 << 10), !piece.isEmpty { bytes += piece }
            return MountTable(parsing: String(decoding: bytes, as: UTF8.self))
        } catch {
            throw ControlError(
                .failed, what: "read /proc/self/mountinfo", why: error.localizedDescription)
        }
    }

    /// Returns the mount, of any kind, that contains `path`.
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

    /// Returns the visible mount at exactly this path.
    package func mount(at path: String) -> Entry? {
        entries.last { $0.mountPoint == path }
    }

    /// The Apus mounts that no other mount at the same place hides, one for each place.
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
            device: String(fields[2]), root: unescape(fields[3]), mountPoint: unescape(fields[4]),
            fileSystem: unescape(fields[separator + 1]),
            source: unescape(fields[separator + 2]),
            userID: fields.dropFirst(separator + 3).first.flatMap(userID))
    }

    private static func userID(_ options: Substring) -> UInt32? {
        options.split(separator: ",").lazy
            .first { $0.hasPrefix("user_id=") }
            .flatMap { UInt32($0.dropFirst("user_id=".count)) }
    }

    /// Decodes the kernel's escapes: a backslash and three octal digits.
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

    /// Returns `path` relative to this mount point, in the form of ``MountService``.
    package func relative(_ path: String) -> String {
        path.dropFirst(mountPoint.count).split(separator: "/").joined(separator: "/")
    }
}
