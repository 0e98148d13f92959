import GRDB

extension Database {
    /// Whether a local inode can have a name: neither another one has it, nor one that the remote takes
    /// for it.
    func isFree(
        _ name: FileName, in parent: InodeNumber, _ matching: NameMatching
    ) throws -> Bool {
        guard try dirent(name, in: parent) == nil else { return false }
        guard matching.isFolding else { return true }
        return try namesakes(of: name, in: parent).isEmpty
    }
}
