/// The capabilities of a store.
package struct ProviderTraits: Sendable {
    /// For messages: `folder`, `WebDAV`.
    package var name: String
    /// Whether mode bits are kept as they were set.
    package var keepsMode: Bool
    /// Whether symbolic links can be stored.
    package var keepsSymlinks: Bool
    /// The resolution of modification times; nil if the store does not keep them.
    package var modifiedResolution: Duration?
    /// The number of concurrent transfers that suits the store.
    package var transfersMax: Int
    /// The number of concurrent queries of single objects that suits the store.
    package var queriesMax: Int
    /// Whether a directory moves in one step; otherwise object by object, and a move may be left
    /// incomplete.
    package var movesDirectoriesAtOnce: Bool
    /// Whether a moved file is certain to keep its etag.
    package var keepsVersionsInMoves: Bool
    /// Whether a file's bytes and attributes are stored in one step; otherwise an interrupted call
    /// may leave the bytes without the attributes.
    package var storesAttributesAtOnce: Bool
    /// Whether a file stored by ``Provider/write(_:from:attributes:base:session:)`` is recognised
    /// as soon as its bytes are visible: by the nonce of its session or by an etag that the session
    /// was told before. Otherwise the engine keeps a digest of the bytes that it sends, see
    /// ``UploadSession/keepProof()``.
    package var recognisesWrites: Bool
    /// Whether each file is recognised by an etag that ``UploadSession/expect(_:)`` was told: then the
    /// engine records an upload there, and not before it. Requires ``recognisesWrites``.
    package var announcesWrites = false
    /// Whether listings contain all metadata that the store has; otherwise
    /// ``RemoteObject/hasMetadata`` says so for each object.
    package var listsMetadata: Bool
    /// Whether the store keeps checksums of whole files, of some at least.
    package var keepsChecksums: Bool
    /// Whether listings suffice to programs that ask for attributes, though the store has more
    /// metadata: the user has said so. It is fetched before changes are sent.
    package var trustsListings: Bool
    /// The extended attributes that it can keep; nil if it keeps none.
    package var extendedAttributes: ExtendedAttributeSpace?
    /// The names that it takes for one. If in doubt, more than it really does: those are not sent.
    package var names: NameMatching

    package init(
        name: String, keepsMode: Bool, keepsSymlinks: Bool, modifiedResolution: Duration?,
        transfersMax: Int, queriesMax: Int? = nil, movesDirectoriesAtOnce: Bool = true,
        keepsVersionsInMoves: Bool = false,
        storesAttributesAtOnce: Bool = true, recognisesWrites: Bool = false,
        announcesWrites: Bool = false,
        listsMetadata: Bool = true, trustsListings: Bool = false,
        keepsChecksums: Bool = false,
        extendedAttributes: ExtendedAttributeSpace? = nil, names: NameMatching = .exact
    ) {
        self.name = name
        self.keepsMode = keepsMode
        self.keepsSymlinks = keepsSymlinks
        self.modifiedResolution = modifiedResolution
        self.transfersMax = transfersMax
        self.queriesMax = queriesMax ?? transfersMax
        self.movesDirectoriesAtOnce = movesDirectoriesAtOnce
        self.keepsVersionsInMoves = keepsVersionsInMoves
        self.storesAttributesAtOnce = storesAttributesAtOnce
        self.recognisesWrites = recognisesWrites
        self.announcesWrites = announcesWrites
        self.listsMetadata = listsMetadata
        self.keepsChecksums = keepsChecksums
        self.trustsListings = trustsListings
        self.extendedAttributes = extendedAttributes
        self.names = names
    }

    /// Whether a modification time comes back as it was sent. It proves no bytes: two clients may
    /// well give the same time to two files of the same size.
    var hasFineTimes: Bool {
        modifiedResolution.map { $0 <= .microseconds(1) } ?? false
    }
}

/// All of them except ``ProviderTraits/extendedAttributes``, which only the kind of store can measure, and
/// ``ProviderTraits/announcesWrites``, which is false until the store is known: uploads cost more then.
extension ProviderTraits: Codable {
    private enum CodingKeys: String, CodingKey {
        case name, keepsMode, keepsSymlinks, modifiedResolution, transfersMax, queriesMax
        case movesDirectoriesAtOnce, keepsVersionsInMoves, storesAttributesAtOnce, recognisesWrites
        case listsMetadata, keepsChecksums, trustsListings, names
    }
}

/// The path of an object in the store: the names from the mounted root down to it.
package struct ObjectKey: Hashable, Sendable {
    package var names: [FileName]

    package init(_ names: [FileName]) {
        self.names = names
    }

    package static let root = ObjectKey([])

    package func appending(_ name: FileName) -> ObjectKey {
        ObjectKey(names + [name])
    }

    /// The parent directory; nil for the root.
    package var parent: ObjectKey? {
        names.isEmpty ? nil : ObjectKey(names.dropLast())
    }
}

extension ObjectKey: CustomStringConvertible {
    /// For messages: the names separated by `/`.
    package var description: String {
        names.map(\.description).joined(separator: "/")
    }
}

/// The provider's version tag of a file: equal tags mean equal bytes. RFC 9110: a strong ETag.
package struct ETag: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// The state that a change expects at its key.
package enum BaseVersion: Hashable, Sendable {
    /// No object. HTTP: `If-None-Match: *`.
    case absent
    /// This version. HTTP: `If-Match`.
    case version(ETag)
}

/// An object as the store reports it.
package struct RemoteObject: Hashable, Sendable {
    package var name: FileName
    package var kind: FileKind
    /// The version of a file; nil for other kinds, except for a symbolic link that a listing shows
    /// as a file. Such a link has the version from the listing, which reveals when it changes.
    package var etag: ETag?
    /// Size of a file in bytes; 0 for other kinds.
    package var size: UInt64
    package var modified: Timestamp
    /// The permission bits (0 to 0o7777); nil if the store does not keep them.
    package var mode: UInt16?
    /// The target of a symbolic link, as bytes; nil for other kinds.
    package var target: [UInt8]?
    /// Whether this is all metadata that the store has. A listing may lack metadata that only
    /// ``Provider/stat(_:)`` returns: the mode, the exact time, extended attributes, and that a
    /// file is really a symbolic link.
    package var hasMetadata: Bool
    /// The time up to which this includes all changes of a file, as the last write time in
    /// listings: a later time there indicates further changes. It is nil if listings are complete,
    /// or if it is unknown.
    package var remoteModified: Timestamp?
    /// Extended attributes of a file or directory; nil if the store does not keep or report them.
    package var extendedAttributes: ExtendedAttributes?
    /// The nonce of the upload that wrote the bytes of a file, as far as the store keeps it; copies
    /// and moves keep it. It is nil in a listing that lacks metadata.
    package var nonce: WriteNonce?

    package init(
        name: FileName, kind: FileKind, etag: ETag?, size: UInt64, modified: Timestamp,
        mode: UInt16?, target: [UInt8]? = nil, hasMetadata: Bool = true,
        remoteModified: Timestamp? = nil, extendedAttributes: ExtendedAttributes? = nil,
        nonce: WriteNonce? = nil
    ) {
        self.name = name
        self.kind = kind
        self.etag = etag
        self.size = size
        self.modified = modified
        self.mode = mode
        self.target = target
        self.hasMetadata = hasMetadata
        self.remoteModified = remoteModified
        self.extendedAttributes = extendedAttributes
        self.nonce = nonce
    }
}

/// An object, and the first bytes of a file.
package struct ObjectStart: Hashable, Sendable {
    package var object: RemoteObject
    /// Those of this version; empty if they are not known.
    package var bytes: [UInt8]

    package init(object: RemoteObject, bytes: [UInt8]) {
        self.object = object
        self.bytes = bytes
    }
}

/// The attributes that are sent with an object. A store keeps those that it can, see
/// ``ProviderTraits``.
package struct ObjectAttributes: Hashable, Sendable {
    package var modified: Timestamp
    /// The permission bits, 0 to 0o7777.
    package var mode: UInt16
    /// All extended attributes of the object; none for a symbolic link.
    package var extendedAttributes: ExtendedAttributes

    package init(
        modified: Timestamp, mode: UInt16,
        extendedAttributes: ExtendedAttributes = ExtendedAttributes()
    ) {
        self.modified = modified
        self.mode = mode
        self.extendedAttributes = extendedAttributes
    }

    /// Returns the attributes of an object after only some of them are set to these values.
    package func applying(only fields: AttributeFields, to object: RemoteObject) -> Self {
        var result = self
        if !fields.contains(.modified) { result.modified = object.modified }
        if !fields.contains(.mode) { result.mode = object.mode ?? mode }
        if !fields.contains(.extendedAttributes) {
            result.extendedAttributes = object.extendedAttributes ?? extendedAttributes
        }
        return result
    }
}

/// Some of the ``ObjectAttributes``.
package struct AttributeFields: OptionSet, Hashable, Sendable {
    package static let modified = Self(rawValue: 1)
    package static let mode = Self(rawValue: 2)
    package static let extendedAttributes = Self(rawValue: 4)
    package static let all: Self = [.modified, .mode, .extendedAttributes]

    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }
}

/// Some entries of a directory, possibly none.
package struct ListingPage: Sendable {
    package var objects: [RemoteObject]
    package var isLast: Bool
    /// Whether the next page is on this machine already, so that it asks the store nothing.
    package var isNextLocal: Bool

    package init(objects: [RemoteObject], isLast: Bool, isNextLocal: Bool = false) {
        self.objects = objects
        self.isLast = isLast
        self.isNextLocal = isNextLocal
    }
}
