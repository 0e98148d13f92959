/// A range of readable bytes: a file, and the number of bytes available from the requested offset
/// on.
package struct ReadableRange: Sendable {
    package var file: any DiskFile
    /// 0 at and beyond the end of the file.
    package var count: Int
}
