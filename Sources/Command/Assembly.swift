import Control
import Engine
import Logging

/// Puts a mount together: takes the state directory, opens the engine's database in it, makes the
/// provider that the source names.
///
/// - Throws: `CommandFailure` for a source that is misspelled or cannot be reached, a state
///   directory that another mount holds or that has no room.
func assemble(_ options: MountOptions, logger: Logger) async throws -> any MountedFolder {
    throw CommandFailure(
        what: "mount \(options.source)", why: "engine, provider and FUSE are not wired up yet")
}
