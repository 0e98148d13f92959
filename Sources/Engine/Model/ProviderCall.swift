/// One call of a provider, for wrappers and messages.
package enum ProviderCall: Sendable {
    /// - Parameter isFirst: Whether this is the first page, so that nothing is lost if it fails.
    case list(ObjectKey, isFirst: Bool = true)
    case probe
    case stat(ObjectKey)
    case read(ObjectKey)
    case prepare
    case write(ObjectKey)
    case abandon(ObjectKey)
    case createDirectory(ObjectKey)
    case createSymlink(ObjectKey)
    case setAttributes(ObjectKey)
    /// - Parameter isFile: Whether the object is a file, with an expected version.
    case move(ObjectKey, to: ObjectKey, isFile: Bool)
    case delete(ObjectKey)
    case space
    case publicLink(ObjectKey)
    case follow(ObjectKey)
    case changes

    /// Whether it changes nothing, so that it can be given up once the remote is out of reach. A probe
    /// finds out when that is over.
    var isLook: Bool {
        switch self {
        case .list, .stat, .read, .space, .follow: true
        case .probe, .prepare, .write, .abandon, .createDirectory, .createSymlink, .setAttributes,
            .move, .delete, .publicLink, .changes:
            false
        }
    }
}

extension ProviderCall {
    /// The kinds of calls, with the names that metrics have for them.
    package enum Kind: String, CaseIterable, Sendable {
        case list, probe, stat, read, prepare, write, abandon, move, delete, space, link, follow
        case changes
        case createDirectory = "mkdir"
        case createSymlink = "symlink"
        case setAttributes = "setattr"
    }

    var kind: Kind {
        switch self {
        case .list: .list
        case .probe: .probe
        case .stat: .stat
        case .read: .read
        case .prepare: .prepare
        case .write: .write
        case .abandon: .abandon
        case .createDirectory: .createDirectory
        case .createSymlink: .createSymlink
        case .setAttributes: .setAttributes
        case .move: .move
        case .delete: .delete
        case .space: .space
        case .publicLink: .link
        case .follow: .follow
        case .changes: .changes
        }
    }
}

extension ProviderCall: CustomStringConvertible {
    package var description: String {
        switch self {
        case .list(let key, _): "list \"\(key)\""
        case .probe: "probe the remote"
        case .stat(let key): "read the metadata of \"\(key)\""
        case .read(let key): "read \"\(key)\""
        case .prepare: "prepare the remote for changes"
        case .write(let key): "write \"\(key)\""
        case .abandon(let key): "abandon an upload of \"\(key)\""
        case .createDirectory(let key): "create the directory \"\(key)\""
        case .createSymlink(let key): "create the symbolic link \"\(key)\""
        case .setAttributes(let key): "set the attributes of \"\(key)\""
        case .move(let key, let destination, _): "move \"\(key)\" to \"\(destination)\""
        case .delete(let key): "delete \"\(key)\""
        case .space: "read the free space"
        case .publicLink(let key): "make a link to \"\(key)\""
        case .follow(let key): "follow the changes in \"\(key)\""
        case .changes: "wait for changes"
        }
    }
}
