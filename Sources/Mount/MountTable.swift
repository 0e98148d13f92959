import Glibc

/// The mounts that this process sees. Linux: `/proc/self/mountinfo`.
struct MountTable {
    struct Entry: Equatable {
        /// `major:minor`.
        var device: String
        var mountPoint: String
        var type: String
        var source: String
    }

    let entries: [Entry]

    /// - Parameter text: The lines of `mountinfo`, see proc_pid_mountinfo(5).
    init(parsing text: String) {
        entries = text.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ", omittingEmptySubsequences: false)
            // Optional fields vary in number and end with a dash.
            guard fields.count > 6, let dash = fields[6...].firstIndex(of: "-"),
                fields.count > dash + 2
            else { return nil }
            return Entry(
                device: String(fields[2]), mountPoint: Self.unescaped(fields[4]),
                type: String(fields[dash + 1]), source: Self.unescaped(fields[dash + 2]))
        }
    }

    /// Empty where it cannot be read.
    static func current() -> MountTable {
        MountTable(parsing: readText("/proc/self/mountinfo") ?? "")
    }

    /// The topmost mount at a path without symbolic links.
    func entry(at path: String) -> Entry? {
        entries.last { $0.mountPoint == path }
    }

    /// Blank, tab, newline and backslash are written as `\` and three octal digits.
    private static func unescaped(_ field: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = field.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), rest.count >= 3,
                let code = UInt8(String(Substring(rest.prefix(3))), radix: 8)
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

/// A small text file, as those of `/proc` and `/etc`; nil where it cannot be read.
func readText(_ path: String) -> String? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    return String(decoding: readAll(fileno(file)), as: UTF8.self)
}

/// All bytes from a descriptor's position to its end, or to the first failure.
func readAll(_ descriptor: CInt) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = read(descriptor, &buffer, buffer.count)
        if count > 0 {
            bytes += buffer[..<count]
        } else if count == 0 || errno != EINTR {
            return bytes
        }
    }
}
