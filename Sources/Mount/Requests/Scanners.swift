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
        RunningProgram(thread).map(contain) ?? false
    }

    func contain(_ program: RunningProgram) -> Bool {
        names.contains(program.executable) || program.script.map(names.contains) ?? false
    }
}
