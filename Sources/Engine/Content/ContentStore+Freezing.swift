import Logging
import Synchronization

extension ContentStore {
    /// Stores the current version and freezes its content for an upload.
    func freeze(
        _ file: OpenFile
    ) throws(Blocked) -> (FrozenContent, InodeRecord) {
        try file.withState { state throws(Blocked) in
            let record = try storeVersion(file.inode, &state)
            let frozen = FrozenContent(
                state.file, size: state.size,
                clonePath: DiskPath("\(StateFiles.frozenFolder)/\(file.inode)-\(record.generation)")
            )
            if state.writers > 0 {
                try onDisk("freeze inode \(file.inode)") { () throws(DiskError) in
                    frozen.detach(to: try disk.clone(state.file, to: frozen.clonePath))
                }
            } else {
                state.frozen.append(frozen)
            }
            return (frozen, record)
        }
    }

    func thaw(_ frozen: FrozenContent, of file: OpenFile) {
        file.state.withLock { state in state.frozen.removeAll { $0 === frozen } }
        guard frozen.isDetached else { return }
        do throws(DiskError) {
            try disk.remove(frozen.clonePath)
        } catch {
            // The next start removes it.
            logger.warning("frozen content not removed", metadata: ["reason": "\(error.reason)"])
        }
    }
}
