/// The sizes of pinned files together.
package struct PinSums: Hashable, Sendable {
    package var files: UInt64 = 0
    /// The space that they take on the disk once they are all here.
    package var bytes: UInt64 = 0
    /// The files of which bytes are missing.
    package var filesMissing: UInt64 = 0
    package var bytesMissing: UInt64 = 0

    package init() {}

    package static func + (left: PinSums, right: PinSums) -> PinSums {
        var sum = left
        sum.files += right.files
        sum.bytes += right.bytes
        sum.filesMissing += right.filesMissing
        sum.bytesMissing += right.bytesMissing
        return sum
    }
}
