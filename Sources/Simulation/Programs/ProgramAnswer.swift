import Engine

/// The answer of an engine or of the model to a step.
enum ProgramAnswer {
    case done
    case inode(InodeNumber)
    case bytes([UInt8])
    case look(Look)
    case names([FileName])
}
