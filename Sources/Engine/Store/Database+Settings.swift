import GRDB

/// A setting of a mount that its state keeps, in a form that its user understands.
package enum KeptSetting: String, Sendable {
    case bandwidth
}

extension Store {
    /// Returns a setting; nil if it was never kept.
    package func setting(_ setting: KeptSetting) throws(EngineError) -> String? {
        do throws(Blocked) {
            return try read { database in
                try database.value(
                    "SELECT value FROM settings WHERE key = ?", [setting.rawValue])
            }
        } catch {
            throw error.failure
        }
    }

    /// Keeps a setting for this mount and later ones.
    package func keep(_ setting: KeptSetting, _ text: String) throws(EngineError) {
        if try self.setting(setting) == text { return }
        do throws(Blocked) {
            try write { database in
                try database.run(
                    "INSERT OR REPLACE INTO settings VALUES (?, ?)", [setting.rawValue, text])
            }
        } catch {
            throw error.failure
        }
    }
}
