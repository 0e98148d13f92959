import ArgumentParser

extension CompletionKind {
    /// The names of the mounts in configuration files.
    static var configuredMounts: CompletionKind {
        .custom { _, _, _ in
            // A wrong file offers none: a shell has no place for its error.
            (try? Configuration.current().mounts.map(\.name)) ?? []
        }
    }
}
