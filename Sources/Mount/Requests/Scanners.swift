import Glibc

/// The programs that look into many files by themselves: indexers and makers of thumbnails. They get
/// the ranges that they read and no more, since no user may ever need the rest.
package struct Scanners: Sendable {
    /// Those of GNOME, KDE, Xfce, locate, and stand-alone ones.
    package static let standard: Set<String> = [
        "tracker-miner-fs-3", "tracker-extract-3", "localsearch-3", "localsearch-extractor-3",
        "baloo_file", "baloo_file_extractor", "recollindex", "updatedb", "updatedb.plocate",
        "updatedb.mlocate", "tumblerd", "gdk-pixbuf-thumbnailer",
        "glycin-thumbnailer", "evince-thumbnailer", "papers-thumbnailer", "totem-video-thumbnailer",
        "gnome-epub-thumbnailer", "gsf-office-thumbnailer", "ffmpegthumbnailer",
        "raw-thumbnailer", "dcraw-thumbnailer", "exe-thumbnailer",
    ]

    private static let interpreters = ["python", "perl", "ruby", "node", "bash", "dash", "gjs"]

    private let names: Set<String>

    /// - Parameter others: Names beside ``standard``, of executable files, without their directories, or
    ///   of scripts.
    package init(and others: some Sequence<String> = []) {
        names = Self.standard.union(others)
    }

    /// Whether a thread belongs to one of them. In doubt it does not.
    ///
    /// - Parameter thread: See ``Reply/thread``.
    func contain(_ thread: pid_t) -> Bool {
        guard thread > 0, let program = Self.program(of: thread) else { return false }
        if names.contains(program) { return true }
        guard Self.interpreters.contains(where: program.hasPrefix) else { return false }
        return isScript(readText("/proc/\(thread)/cmdline") ?? "")
    }

    /// - Parameter text: The content of `/proc/PID/cmdline`: the arguments of an interpreter, each with a
    ///   NUL at its end.
    func isScript(_ text: String) -> Bool {
        let script = text.split(separator: "\0").dropFirst().first { !$0.hasPrefix("-") }
        return script?.split(separator: "/").last.map { names.contains(String($0)) } ?? false
    }

    /// The name of the executable file.
    private static func program(of thread: pid_t) -> String? {
        withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX), alignment: 1) { buffer in
            let bytes = buffer.bindMemory(to: CChar.self)
            guard let start = bytes.baseAddress else { return nil }
            let count = readlink("/proc/\(thread)/exe", start, bytes.count)
            guard count > 0 else { return nil }
            let path = buffer[..<count]
            let name = path.lastIndex(of: UInt8(ascii: "/")).map { path[($0 + 1)...] } ?? path
            return String(decoding: name, as: UTF8.self)
        }
    }
}
