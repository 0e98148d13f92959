/// The access mode of a handle.
package enum FileAccess: UInt64, Sendable {
    case read = 0
    case write = 1
    /// Reading by a program that looks into many files by itself: it gets the ranges that it reads, and
    /// nothing is fetched ahead of it.
    case scan = 2
}
