/// The capabilities of a server: how it implements RFC 4918.
struct WebDAVServer: Hashable, Sendable {
    /// How the bytes of a file are replaced.
    enum Replacing: Hashable, Sendable {
        /// By a PUT that obeys `If-Match` and `If-None-Match` and takes effect in one step.
        case conditionally
        /// By a PUT that takes effect in one step. Its condition, a tag in `If`, is checked only when it
        /// begins, so large files are staged.
        case directly
        /// By a PUT to a temporary name and a MOVE, since an interrupted PUT leaves half a file.
        case staged
    }

    /// The name shown to users.
    var name = "WebDAV"
    var replacing = Replacing.staged
    /// RFC 4918's class 2.
    var locks = false
    /// Whether tags in the header `If` are compared weakly, as RFC 4918 lets servers do.
    var obeysIf = false
    /// Whether a tag is weak at first and becomes strong without a change.
    var tagsStartWeak = false
    /// Whether tags are made from time and length, so that two files may have the same one and a move may
    /// bring it to another name. `creationdate` is then the time at which a file got its name.
    var sharesTags = false
    /// Whether `If-Match` works as in RFC 9110.
    var obeysIfMatch = false
    /// Whether properties of our own are kept.
    var keepsProperties = false
    /// Whether it accepts `X-OC-Mtime` without a change of its tags.
    var takesModified = false
    /// Whether names need not be UTF-8.
    var keepsAnyBytesInNames = false
    /// Whether it changes names to the composed form (NFC).
    var composesNames = false
    /// The longest name for which properties are kept.
    var propertyNameBytesMax = 255

    /// Whether a change in a directory changes the etags of all above it, too.
    var etagsCoverSubtrees = false
    /// Whether it reports ownCloud's property `permissions`.
    var tellsPermissions = false
    /// The path of the collection for chunked uploads; nil if there is none.
    var uploads: [[UInt8]]?

    /// Whether a PUT with `Content-Range` writes that range of a file in its place (RFC 9110, 14.5).
    var takesRanges = false

    /// Whether its listings leave out names that begin with a dot.
    var hidesDotNames = false
    /// Whether its listings leave out names that begin with ``davfsPrefix``.
    var hidesDavfsNames = false
    /// mod_dav_fs keeps it for what it is just writing (`DAV_FS_TMP_PREFIX`).
    static let davfsPrefix = ".davfs.tmp"

    /// Detects the server by its answer to OPTIONS.
    ///
    /// - Parameter dav: The values of the headers `DAV`.
    init(dav: [String]) {
        let classes = dav.joined(separator: ",").lowercased()
        let list = classes.split(separator: ",").map { $0.filter { $0 != " " } }
        locks = list.contains("2")
        if classes.contains("<http://apache.org/dav/propset/fs/") {
            name = "WebDAV (Apache)"
            replacing = .directly
            obeysIf = true
            // Its data base of locks does not outlive several clients that lock at a time.
            locks = false
            tagsStartWeak = true
            sharesTags = true
            takesRanges = true
            keepsProperties = true
            keepsAnyBytesInNames = true
            hidesDavfsNames = true
            // Each is a file `.DAV/NAME.dir` there on some systems.
            propertyNameBytesMax = 250
        } else if classes.contains("nextcloud-") || classes.contains("oc-resource-sharing") {
            name = "WebDAV (Nextcloud or ownCloud)"
            replacing = .conditionally
            locks = false
            obeysIfMatch = true
            takesModified = true
            etagsCoverSubtrees = true
            tellsPermissions = true
            // `OC_Util::normalizeUnicode`.
            composesNames = true
        } else if list == ["2"] {
            // No other server claims class 2 without class 1.
            name = "WebDAV (nginx)"
            hidesDotNames = true
        }
    }
}
