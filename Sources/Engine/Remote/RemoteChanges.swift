/// What a transaction did that others have to hear of once it is committed.
struct RemoteChanges {
    var cacheChanges: [CacheChange] = []
    /// Inodes that lost their name.
    var unlinked: [InodeNumber] = []
    /// Inodes to be planned.
    var pending: [InodeNumber] = []
    /// Inodes that were pending, and of which nothing is left to plan.
    var settled: [InodeNumber] = []
    /// Files that the remote has deleted and whose bytes are to go to the trash.
    var discarded: [InodeNumber] = []
    /// How many inodes more may lose their name in the transaction, so that others need not wait for
    /// long. What is begun goes to its end.
    var removalsLeft: Int
    /// The file that is open for writing, and for whose sake a plan was not carried out.
    var awaited: InodeNumber?
}
