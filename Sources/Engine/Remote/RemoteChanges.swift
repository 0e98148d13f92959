/// The changes of a transaction that have consequences after its commit.
struct RemoteChanges {
    var cacheChanges: [CacheChange] = []
    /// Inodes that lost their name.
    var unlinked: [InodeNumber] = []
    /// Directories that lost names although they are kept: objects that their last listing has shown may be
    /// unknown again.
    var uncovered: [InodeNumber] = []
    /// Whether inodes may have become due.
    var isScheduled = false
    /// How many more inodes may lose their name in the transaction, so that other writers do not
    /// wait long. A removal in progress is completed.
    var removalsLeft: Int
    /// The file open for writing that kept a plan from being carried out.
    var awaited: InodeNumber?
}
