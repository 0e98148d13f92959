/// How to rename to a name that is taken.
package enum RenameMode: Sendable {
    case replace
    /// Linux: `RENAME_NOREPLACE`.
    case noReplace
}
