package import Engine
import ProviderFolder
import ProviderRclone
import ProviderS3
package import ProviderSupport
import ProviderWebDAV

/// The remote to be mounted, as a user names it.
///
/// ```
/// folder:PATH[?latency=TIME&rate=SIZE]
/// webdav+https://HOST[:PORT]/PATH
/// rclone:NAME:PATH
/// s3://BUCKET[/PREFIX][?endpoint=URL&region=REGION&profile=NAME&anonymous=true&path-style=true
///     &storage-class=CLASS&requester-pays=true]
/// ```
/// In PATH, `%` and two hexadecimal digits stand for a byte, so a `%` of a name is written `%25`
/// and a `?` is written `%3F`; every other character, blanks included, stands for itself. A
/// relative PATH counts from the working directory. `latency` delays each call, `rate` bounds the
/// bytes a second of each transfer, see ``Quantity``. NAME is a remote in rclone's configuration, and
/// its PATH stands as it is.
package struct Source: Sendable {
    private let form: any SourceForm

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
        case let scheme where WebDAVSource.schemes.contains(scheme):
            form = try WebDAVSource(parsing: text)
        case "folder":
            form = try FolderSource(parsing: rest, workingDirectory: workingDirectory)
        case "rclone":
            form = try RcloneSource(parsing: rest)
        case "s3":
            form = try S3Source(parsing: rest)
        default:
            throw Self.unknown(text)
        }
    }

    /// The source as it can be written, in one way only, and without secrets.
    package var description: String { form.description }

    /// The place of the bytes, which distinguishes sources: the description without parameters that do
    /// not change the place, such as a folder's latency.
    package var identity: String { form.identity }

    /// A name for what belongs to this source on this machine, such as its state directory.
    ///
    /// At most 60 bytes of letters, digits and `-_.`: a part to be recognised by people, and a hash
    /// of the whole identity, so that other sources have other names.
    package var stateName: String { form.stateName }

    /// The absolute path of a local folder; nil for other sources.
    package var localFolder: String? { form.localFolder }

    /// Opens it.
    ///
    /// - Throws: `.unavailable` if it cannot be reached now, or is not what it should be.
    package func connect(_ world: ProviderEnvironment) async throws(SourceError) -> any Provider {
        try await form.connect(world)
    }

    /// Returns a misspelled source for use in an error message, without user and password, even if these
    /// contain characters that would end them.
    package static func withoutSecrets(_ text: String) -> String {
        text.replacing(/(\/\/|%2[Ff]%2[Ff])(?:[^\/?#&@:]*:[^&]*|[^\/?#&@]*)@/) { "\($0.1)…@" }
    }

    static let forms =
        "\(FolderSource.forms), \(WebDAVSource.forms), "
        + "\(S3Source.forms) or \(RcloneSource.form)"

    private static func unknown(_ text: String) -> SourceError {
        let scheme = text.prefix { $0 != ":" && $0 != "/" }
        if text.hasPrefix("/") || text.hasPrefix(".") {
            return SourceError(
                .misspelled, "\"\(text)\" does not say what kind of source it is",
                remedy: "for a folder write \"folder:\(text)\"")
        }
        let near = Spelling.nearest(
            to: scheme.lowercased(), among: ["folder", "s3", "rclone"] + WebDAVSource.schemes)
        let remedy = near.map { "did you mean \"\($0):\"?" } ?? "a source is written \(forms)"
        return SourceError(
            .misspelled, "there is no kind of source \"\(scheme)\"", remedy: remedy)
    }
}

extension Source: Hashable {
    package static func == (left: Self, right: Self) -> Bool {
        left.description == right.description
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(description)
    }
}

extension Source: CustomStringConvertible {}
