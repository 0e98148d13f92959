import GRDB
import Logging
import Synchronization

extension Engine {
    /// Returns a public address of an item as it is on the remote.
    ///
    /// - Throws: `.busy` while the item or its place has changes that are not uploaded yet;
    ///   `.unsupported` if the remote has no public links; otherwise the remote's error.
    package func publicLink(to inode: InodeNumber) async throws(EngineError) -> String {
        let key: ObjectKey
        do throws(Blocked) {
            key = try store.read { database in
                let path = ObjectKey(try database.path(of: inode))
                guard try !database.isPending(inode), try database.remoteKey(of: inode) == path
                else {
                    throw Blocked.failure(
                        .busy,
                        "create a link to \"\(path)\", which has changes that are not on the remote",
                        remedy: "run `apus sync` first")
                }
                return path
            }
        } catch {
            throw error.failure
        }
        do throws(ProviderError) {
            return try await remote.gate.publicLink(to: key)
        } catch {
            throw EngineError(error)
        }
    }
}
