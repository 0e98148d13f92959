package import Engine
import Glibc

/// What a user names as the cloud to be mounted.
///
/// ```
/// folder:PATH[?latency=TIME&rate=SIZE]
/// ```
/// In PATH, `%` and two hexadecimal digits stand for a byte, so a `%` of a name is written `%25`
/// and a `?` is written `%3F`; every other character, blanks included, stands for itself. A
/// relative PATH counts from the working directory. `latency` delays each call, `rate` bounds the
/// bytes a second of each transfer, see ``Quantity``.
package struct Source: Hashable, Sendable {
    /// A directory, and how far away it pretends to be.
    private let folder: FolderSource

    /// - Parameter workingDirectory: Where a relative path begins, absolute; by default the
    ///   process's own.
    /// - Throws: `.misspelled`.
    package init(
        parsing text: String, workingDirectory: String? = nil
    ) throws(SourceError) {
        let scheme = text.prefix { $0 != ":" }
        let rest = text.dropFirst(scheme.count + 1)
        guard scheme.count < text.count else { throw Self.unknown(text) }
        switch scheme.lowercased() {
        case "folder":
            folder = try FolderSource(parsing: rest, workingDirectory: workingDirectory)
        case "webdav", "webdav+http", "webdav+https", "s3", "rclone":
            throw SourceError(
                .misspelled, "\(scheme): sources are not in this version of apus",
                remedy: "mount a folder: \(Self.forms)")
        default:
            throw Self.unknown(text)
        }
    }

    /// The source as it can be written, in one way only, and without secrets.
    package var description: String { folder.description }

    /// Where the bytes are, for telling sources apart: the description without how far away a
    /// source pretends to be.
    package var identity: String { folder.identity }

    /// A name for what belongs to this source on this machine, such as its state directory.
    ///
    /// At most 60 bytes of letters, digits and `-_.`; the end of the path to be recognised by
    /// people, and a hash of all of it, so that other sources have other names. How far away a
    /// source pretends to be does not count.
    package var stateName: String { folder.stateName }

    /// Opens it.
    ///
    /// - Parameter clock: What latency and rate are reckoned with.
    /// - Throws: `.unavailable` if it cannot be reached now, or is not what it should be.
    package func connect(clock: any Clock) async throws(SourceError) -> any Provider {
        try await folder.connect(clock: clock)
    }

    static let forms = "folder:/PATH or folder:/PATH?latency=20ms&rate=10MiB"

    private static func unknown(_ text: String) -> SourceError {
        let scheme = text.prefix { $0 != ":" && $0 != "/" }
        if text.hasPrefix("/") || text.hasPrefix(".") {
            return SourceError(
                .misspelled, "\"\(text)\" does not say what kind of source it is",
                remedy: "for a folder write \"folder:\(text)\"")
        }
        let near = Spelling.nearest(to: scheme.lowercased(), among: ["folder"])
        let remedy = near.map { "did you mean \"\($0):\"?" } ?? "a source is written \(forms)"
        return SourceError(
            .misspelled, "there is no kind of source \"\(scheme)\"", remedy: remedy)
    }
}

extension Source: CustomStringConvertible {}
