/// The deletions that a confirmation let go.
package struct DeletionsReport: Codable, Hashable, Sendable {
    /// Files, directories and links that are removed here, as on the remote, each with all below.
    package var here: Int
    /// Those that are deleted on the remote, as here.
    package var onRemote: Int

    package init(here: Int, onRemote: Int) {
        self.here = here
        self.onRemote = onRemote
    }

    /// For people.
    package var line: String {
        switch (here, onRemote) {
        case (0, 0): "No deletions were waiting."
        case (_, 0): "Removing here what the remote deleted: \(here)."
        case (0, _): "Deleting on the remote what was deleted here: \(onRemote)."
        default:
            "Removing here what the remote deleted: \(here); "
                + "deleting there what was deleted here: \(onRemote)."
        }
    }
}
