/// The access that a handle grants.
package enum FileAccess: UInt64, Sendable {
    case read = 0
    case write = 1
}
