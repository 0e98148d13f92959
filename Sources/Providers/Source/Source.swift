package import Engine
import ProviderFolder
import ProviderRclone
import ProviderS3
package import ProviderSupport
import ProviderWebDAV

/// A source as named by the user: the cloud storage to be mounted.
///
/// ```
/// folder:PATH[?latency=TIME&rate=SIZE]
/// webdav+https://HOST[:PORT]/PATH
/// rclone:NAME:PATH
/// s3://BUCKET[/PREFIX][?endpoint=URL&region=REGION&profile=NAME&anonymous=true&path-style=true
///     &storage-class=CLASS&requester-pays=true]
/// ```
/// In PATH, `%` and two hexadecimal digits stand for a byte, so `%` in a name is written `%25` and
/// `?` is written `%3F`; all other characters, including blanks, stand for themselves. A relative
/// PATH starts at the working directory. `latency` delays each call, `rate` limits the bytes per
/// second of each transfer, see ``Quantity``. NAME is a remote in rclone's configuration, and its
/// PATH is passed on unchanged.
package struct Source: Sendable {
    private let form: any SourceForm

    /// - Parameter workingDirectory: The absolute base of a relative path; by default the process's
    ///   own.
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

    /// The source in its canonical spelling, without secrets.
    package var description: String { form.description }

    /// Identifies the storage: the description without parameters that do not change the contents,
    /// such as a folder's simulated latency.
    package var identity: String { form.identity }

    /// A name for this source's files on this machine, such as its state directory.
    ///
    /// At most 60 bytes of letters, digits and `-_.`: a recognisable part, and a hash of the whole
    /// identity, so that different sources have different names.
    package var stateName: String { form.stateName }

    /// The absolute path of a local folder; nil for other sources.
    package var localFolder: String? { form.localFolder }

    /// Whether its stores can send notifications of changes, see ``NotificationInbox``.
    package var takesNotifications: Bool { form.takesNotifications }

    /// How many requests of a kind a host of this kind serves side by side without harm, before it is
    /// known how many are best.
    package var requestsAtFirst: Int { form.requestsAtFirst }

    /// Opens the source.
    ///
    /// - Throws: `.unavailable` if it cannot be reached at present, or is not of the expected kind.
    package func connect(_ world: ProviderEnvironment) async throws(SourceError) -> any Provider {
        try await form.connect(world)
    }

    /// Returns the capabilities of the connected store, for later mounts.
    ///
    /// - Parameter root: See `ProviderEnvironment.foundRoot`.
    package func known(by provider: any Provider, root: String?) -> KnownRemote {
        KnownRemote(source: description, traits: provider.traits, root: root)
    }

    /// Returns the identity of the root that an earlier mount has found; nil if that was of another source,
    /// with whatever parameters.
    package func root(asIn known: KnownRemote?) -> String? {
        guard let known, known.source == identity || known.source.hasPrefix(identity + "?") else {
            return nil
        }
        return known.root
    }

    /// Returns the traits that an earlier mount has found; nil if those were of other parameters.
    package func traits(asIn known: KnownRemote?) -> ProviderTraits? {
        guard let known, known.source == description else { return nil }
        var traits = known.traits
        traits.extendedAttributes = known.extendedAttributesBytesMax.map {
            form.extendedAttributeSpace(bytesMax: $0)
        }
        return traits
    }

    /// Returns the text of a source, for an error message, without user and password, which do not
    /// belong there, even if they contain their own delimiters.
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
                .misspelled, "\"\(text)\" does not name a kind of source",
                remedy: "for a folder write \"folder:\(text)\"")
        }
        let near = Spelling.nearest(
            to: scheme.lowercased(), among: ["folder", "s3", "rclone"] + WebDAVSource.schemes)
        let remedy = near.map { "did you mean \"\($0):\"?" } ?? "a source is written \(forms)"
        return SourceError(
            .misspelled, "unknown kind of source \"\(scheme)\"", remedy: remedy)
    }
}

extension Source: Equatable, CustomStringConvertible {
    package static func == (left: Self, right: Self) -> Bool {
        left.description == right.description
    }
}
