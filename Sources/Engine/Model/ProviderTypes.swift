/// What a store can do.
package struct ProviderTraits: Sendable {
    /// For people, in messages: `folder`, `WebDAV`.
    package var name: String
    /// Whether mode bits come back as they were set.
    package var keepsMode: Bool
    /// Whether symbolic links can be stored.
    package var keepsSymlinks: Bool
    /// How finely it keeps modification times; nil where it keeps none.
    package var modifiedResolution: Duration?
    /// How many transfers at a time serve it well.
    package var transfersMax: Int
    /// Whether a directory moves in one step; else object by object, which may be cut short.
    package var movesDirectoriesAtOnce: Bool
    /// Whether a file that moves keeps its version mark for certain; else it may get another one.
    package var keepsVersionsInMoves: Bool
    /// Whether a file gets its bytes and its attributes in one step; else it may be found there
    /// with the bytes alone, after a call that was cut short.
    package var storesAttributesAtOnce: Bool
    /// Whether a listing tells all that the store knows of an object; else
    /// ``RemoteObject/isDetailed`` says of each whether it does.
    package var listsDetails: Bool
    /// What it can keep of extended attributes; nil where it keeps none.
    package var extendedAttributes: ExtendedAttributeSpace?

    package init(
        name: String, keepsMode: Bool, keepsSymlinks: Bool, modifiedResolution: Duration?,
        transfersMax: Int, movesDirectoriesAtOnce: Bool = true,
        keepsVersionsInMoves: Bool = false,
        storesAttributesAtOnce: Bool = true, listsDetails: Bool = true,
        extendedAttributes: ExtendedAttributeSpace? = nil
    ) {
        self.name = name
        self.keepsMode = keepsMode
        self.keepsSymlinks = keepsSymlinks
        self.modifiedResolution = modifiedResolution
        self.transfersMax = transfersMax
        self.movesDirectoriesAtOnce = movesDirectoriesAtOnce
        self.keepsVersionsInMoves = keepsVersionsInMoves
        self.storesAttributesAtOnce = storesAttributesAtOnce
        self.listsDetails = listsDetails
        self.extendedAttributes = extendedAttributes
    }
}

/// Where an object is in the store: the names from the mounted root down to it.
package struct ObjectKey: Hashable, Sendable {
    package var names: [FileName]

    package init(_ names: [FileName]) {
        self.names = names
    }

    package static let root = ObjectKey([])

    package func appending(_ name: FileName) -> ObjectKey {
        ObjectKey(names + [name])
    }

    /// The directory that holds it; nil for the root.
    package var parent: ObjectKey? {
        names.isEmpty ? nil : ObjectKey(names.dropLast())
    }
}

extension ObjectKey: CustomStringConvertible {
    /// For people: the names with `/` between them.
    package var description: String {
        names.map(\.description).joined(separator: "/")
    }
}

/// The provider's version mark of a file: equal marks mean equal bytes. RFC 9110: a strong ETag.
package struct ETag: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// What a change expects to find at its key.
package enum BaseVersion: Hashable, Sendable {
    /// Nothing. HTTP: `If-None-Match: *`.
    case absent
    /// This version. HTTP: `If-Match`.
    case version(ETag)
}

/// One object as a store shows it.
package struct RemoteObject: Hashable, Sendable {
    package var name: FileName
    package var kind: FileKind
    /// The version of a file; nil for the other kinds, but for a symbolic link that a listing
    /// shows as a file: there it is always the version that the listing shows, which is how its
    /// change is found out.
    package var etag: ETag?
    /// Bytes of a file; 0 for the other kinds.
    package var size: UInt64
    package var modified: Timestamp
    /// The permission bits (0 to 0o7777); nil where the store keeps none.
    package var mode: UInt16?
    /// Where a symbolic link points, as bytes; nil for the other kinds.
    package var target: [UInt8]?
    /// Whether this is all that the store knows. A listing may lack what only ``Provider/stat(_:)``
    /// tells: the mode, the exact time, extended attributes, and that a file is really a symbolic
    /// link.
    package var isDetailed: Bool
    /// Until when this holds every change of a file, in the time that listings tell of it, which is
    /// that of the last write: a later one tells of others. nil where listings tell all, or that is
    /// not known.
    package var written: Timestamp?
    /// Those of a file or directory; nil where the store keeps none, or does not tell.
    package var extendedAttributes: ExtendedAttributes?

    package init(
        name: FileName, kind: FileKind, etag: ETag?, size: UInt64, modified: Timestamp,
        mode: UInt16?, target: [UInt8]? = nil, isDetailed: Bool = true,
        written: Timestamp? = nil, extendedAttributes: ExtendedAttributes? = nil
    ) {
        self.name = name
        self.kind = kind
        self.etag = etag
        self.size = size
        self.modified = modified
        self.mode = mode
        self.target = target
        self.isDetailed = isDetailed
        self.written = written
        self.extendedAttributes = extendedAttributes
    }
}

/// What travels with an object besides its bytes. A store keeps what it can, see
/// ``ProviderTraits``.
package struct ObjectAttributes: Hashable, Sendable {
    package var modified: Timestamp
    /// The permission bits, 0 to 0o7777.
    package var mode: UInt16
    /// All that the object is to have; those of a symbolic link are none.
    package var extendedAttributes: ExtendedAttributes

    package init(
        modified: Timestamp, mode: UInt16,
        extendedAttributes: ExtendedAttributes = ExtendedAttributes()
    ) {
        self.modified = modified
        self.mode = mode
        self.extendedAttributes = extendedAttributes
    }
}

package struct ListingPage: Sendable {
    package var objects: [RemoteObject]
    /// Where to go on; nil after the last page.
    package var next: PageToken?

    package init(objects: [RemoteObject], next: PageToken?) {
        self.objects = objects
        self.next = next
    }
}

/// A place between two pages of one listing; only its provider reads it.
package struct PageToken: Hashable, Sendable {
    package let rawValue: String

    package init(_ rawValue: String) {
        self.rawValue = rawValue
    }
}
