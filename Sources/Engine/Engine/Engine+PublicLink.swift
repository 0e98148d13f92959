import GRDB
import Logging
import Synchronization

extension Engine {
    /// An address under which everybody may read an item, as it is on the remote.
    ///
    /// - Throws: `.busy` while it, or its place, has changes that are not there yet; `.unsupported`
    ///   where the remote has no such thing; what the remote says otherwise.
    package func publicLink(to inode: InodeNumber) async throws(EngineError) -> String {
        let key: ObjectKey
        do throws(Halt) {
            key = try store.read { database in
                let path = ObjectKey(try database.path(of: inode))
                guard try !database.isPending(inode), try database.remoteKey(of: inode) == path
                else {
                    throw Halt.failure(
                        .busy,
                        "make a link to \"\(path)\", which is not on the remote as it is here",
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
