import GRDB

extension Store {
    /// Returns the capabilities of the remote as last kept; nil if none were, or not in a form that this
    /// version understands.
    package func knownRemote() throws(EngineError) -> KnownRemote? {
        do throws(Blocked) {
            return try read { database in
                let text: String? = try database.value(
                    "SELECT value FROM settings WHERE key = 'remote'")
                return text.flatMap(KnownRemote.init(encoded:))
            }
        } catch {
            throw error.failure
        }
    }

    /// Keeps the capabilities of the remote for later mounts.
    package func keep(_ remote: KnownRemote) throws(EngineError) {
        if try knownRemote() == remote { return }
        do throws(Blocked) {
            try write { database in
                try database.run(
                    "INSERT OR REPLACE INTO settings VALUES ('remote', ?)", [remote.encoded])
            }
        } catch {
            throw error.failure
        }
    }
}
