extension Space {
    /// Stores the space of closed files for which that has failed, or removes their bytes if the database
    /// knows of none.
    func storeUnrecorded() throws(Blocked) {
        for inode in cache.unrecordedFiles {
            try files.withExclusive(inode) { () throws(Blocked) in
                if try storeSpace(of: inode) { cache.forgetUnrecorded(inode) }
            }
        }
    }

    /// - Returns: false if the bytes may be the only copy.
    private func storeSpace(of inode: InodeNumber) throws(Blocked) -> Bool {
        let path = StateFiles.content(of: inode)
        let status = try onDisk(
            "measure the content of inode \(inode)", do: disk.status(of: path))
        guard let status else { return true }
        switch try store.read({ try $0.use(ofContentOf: inode) }) {
        case .needed:
            try store.write { try $0.setLocalBytes(status.allocatedBytes, of: inode) }
        case .none:
            try onDisk("remove the content of inode \(inode)", do: disk.remove(path))
        case .unknown: return false
        }
        return true
    }
}
