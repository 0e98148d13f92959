/// Names, attributes, extended attributes and symbolic links, as rows of the database.
struct Tree: Sendable {
    let configuration: EngineConfiguration
    let store: Store
    let clock: any Clock
    let traits: ProviderTraits
    let files: OpenFileTable
    let space: Space
    let agenda: Agenda
}

/// An inode that has just lost its last name.
struct Removal {
    var inode: InodeNumber
    /// Whether the remote has it, as far as known.
    var isOnRemote: Bool
}
