package import Engine
import ProviderSupport
import SystemCalls

extension FolderProvider {
    /// The directory stays open from the first page to the last: only then does POSIX guarantee that
    /// entries that others add and remove meanwhile neither hide nor repeat the rest.
    package func entries(of directory: ObjectKey) -> ListingCursor {
        ListingCursor(nil as FolderDirectoryStream?) { stream async throws(ProviderError) in
            let opened = stream
            let (current, page) = try await perform(onCancel: .abandon) {
                () throws(ProviderError) -> (FolderDirectoryStream, ListingPage) in
                let stream = if let opened { opened } else { try openToList(directory) }
                return (stream, try readPage(of: stream))
            }
            stream = current
            return page
        }
    }

    private func openToList(_ key: ObjectKey) throws(ProviderError) -> FolderDirectoryStream {
        guard let parent = key.parent, let name = key.names.last else {
            return try FolderDirectoryStream(root.open())
        }
        if FolderName.isReserved(name) { throw ProviderError(.missing, "the name is reserved") }
        let holder = try root.directory(parent)
        let status = try holder.status(of: name)
        guard status.kind == .directory else {
            throw ProviderError(.wrongKind, "it is not a directory")
        }
        return try FolderDirectoryStream(holder.directory(name))
    }

    private func readPage(of stream: FolderDirectoryStream) throws(ProviderError) -> ListingPage {
        var objects: [RemoteObject] = []
        for _ in 0..<options.pageEntries {
            guard let name = try stream.next() else {
                return ListingPage(objects: objects, isLast: true)
            }
            try append(name, of: stream.directory, to: &objects)
        }
        return ListingPage(objects: objects, isLast: false)
    }

    /// Adds the object at `name`, if it still exists and a cloud can store it.
    private func append(
        _ name: FileName, of directory: FolderDirectory, to objects: inout [RemoteObject]
    ) throws(ProviderError) {
        if FolderName.isReserved(name) {
            directory.removeLeftover(name)
            return
        }
        do {
            if let object = try directory.objectIfAny(name) { objects.append(object) }
        } catch {
            if error.kind != .missing { throw error }
        }
    }
}
