import Engine
import ProviderSupport
import SystemCalls

/// The names in one directory, in the file system's order.
struct FolderDirectoryStream: Sendable {
    let directory: FolderDirectory
    private let stream: DirectoryStream

    init(_ directory: FolderDirectory) throws(ProviderError) {
        let readable = try directory.readable()
        self.directory = directory
        stream = try reporting("fdopendir", DirectoryStream(readable))
    }

    /// Skips `.`, `..` and names that are too long.
    ///
    /// - Returns: nil at the end.
    func next() throws(ProviderError) -> FileName? {
        while let entry = try reporting("readdir", stream.next()) {
            if let name = FileName(entry.name) { return name }
        }
        return nil
    }
}
