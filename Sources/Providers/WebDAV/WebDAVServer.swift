/// What is known of a server once it is connected to: how it keeps the promises of RFC 4918.
struct WebDAVServer: Hashable, Sendable {
    /// How a file gets its new bytes.
    enum Replacing: Hashable, Sendable {
        /// By a PUT that holds `If-Match` or `If-None-Match`, and takes effect in one step.
        case conditionally
        /// By a PUT, which takes effect in one step, and whose condition is a tag in `If`, looked at
        /// when it begins; so that a large file is staged.
        case directly
        /// By a PUT to a name of our own, which a MOVE gives the right name: an interrupted PUT
        /// leaves half of a file here.
        case staged
    }

    /// For people, in messages.
    var name = "WebDAV"
    var replacing = Replacing.staged
    /// RFC 4918's class 2.
    var locks = false
    /// Whether tags in the header `If` are compared weakly, as RFC 4918 lets servers do.
    var obeysIf = false
    /// Whether a tag is weak at first and strong some time later, although nothing has changed.
    var tagsRipen = false
    /// Whether tags are made of time and length, so that two files may have the same one, which a move
    /// brings to another name; `creationdate` then tells when a file came under its name.
    var sharesTags = false
    /// Whether `If-Match` on GET does what RFC 9110 says.
    var obeysIfMatch = false
    /// Whether properties of our own are kept.
    var keepsProperties = false
    /// Whether it takes `X-OC-Mtime`, and makes its tags of something else.
    var takesModified = false
    /// Whether names need not be UTF-8.
    var keepsAnyBytesInNames = false
    /// Whether names become composed (NFC), so that others come back than were given.
    var composesNames = false
    /// The longest name for which properties are kept.
    var propertyNameBytesMax = 255

    /// Whether it says what may be done with a resource: `permissions` of ownCloud.
    var tellsPermissions = false
    /// The path of the collection that takes uploads in chunks; nil where there is none.
    var uploads: [[UInt8]]?

    /// Whether a PUT with `Content-Range` writes that range of a file in its place (RFC 9110, 14.5).
    var takesRanges = false

    /// Whether its listings leave out names that begin with a dot.
    var hidesDotNames = false
    /// Whether its listings leave out names that begin with ``davfsPrefix``.
    var hidesDavfsNames = false
    /// mod_dav_fs keeps it for what it is just writing (`DAV_FS_TMP_PREFIX`).
    static let davfsPrefix = ".davfs.tmp"

    /// Tells the server by its answer to OPTIONS.
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
            tagsRipen = true
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
            tellsPermissions = true
            // `OC_Util::normalizeUnicode`.
            composesNames = true
        } else if list == ["2"] {
            // Nobody else claims class 2 without class 1.
            name = "WebDAV (nginx)"
            hidesDotNames = true
        }
    }
}
