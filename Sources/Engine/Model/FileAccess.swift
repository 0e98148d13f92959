/// The access mode of a handle.
package enum FileAccess: UInt64, Sendable {
    case read = 0
    case write = 1
}
