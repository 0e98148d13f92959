package import Engine
import ProviderSupport

/// Lists in pages without state between them: the token tells where to continue.
///
/// `p4711` is a position in the file system's own order, `n68656c6c6f` the last name (in
/// hexadecimal) of the page before; see ``FolderOptions/ListingOrder``.
extension FolderProvider {
    package func list(
        _ directory: ObjectKey, page: PageToken?
    ) async throws(ProviderError) -> ListingPage {
        try await perform(onCancel: .abandon) { () throws(ProviderError) in
            let opened = try openToList(directory)
            switch try place(of: page) {
            case .start where options.listingOrder == .position:
                return try positionPage(of: opened, from: 0)
            case .start: return try namePage(of: opened, after: nil)
            case .position(let position): return try positionPage(of: opened, from: position)
            case .name(let name): return try namePage(of: opened, after: name)
            }
        }
    }

    private func openToList(_ key: ObjectKey) throws(ProviderError) -> FolderDirectory {
        guard let parent = key.parent, let name = key.names.last else { return try root.open() }
        if FolderName.isReserved(name) { throw ProviderError(.missing, "the name is reserved") }
        let holder = try root.directory(parent)
        let status = try holder.status(of: name)
        guard status.kind == .directory else {
            throw ProviderError(.wrongKind, "it is not a directory")
        }
        return try holder.directory(name)
    }

    // MARK: The file system's order

    private func positionPage(
        of directory: FolderDirectory, from position: Int
    ) throws(ProviderError) -> ListingPage {
        var stream = try FolderDirectoryStream(directory, from: position)
        var objects: [RemoteObject] = []
        for _ in 0..<options.pageEntries {
            switch try stream.next() {
            case .name(let name): try append(name, of: directory, to: &objects)
            case .unusable: continue
            case .end: return ListingPage(objects: objects, next: nil)
            }
        }
        return ListingPage(objects: objects, next: PageToken("p\(stream.position)"))
    }

    // MARK: The order of names

    private func namePage(
        of directory: FolderDirectory, after last: FileName?
    ) throws(ProviderError) -> ListingPage {
        var names = SmallestNames(countMin: options.pageEntries, after: last)
        var stream = try FolderDirectoryStream(directory)
        scan: while true {
            switch try stream.next() {
            case .name(let name): names.insert(name)
            case .unusable: continue
            case .end: break scan
            }
        }
        let (page, isLast) = names.finish()
        var objects: [RemoteObject] = []
        for name in page {
            try append(name, of: directory, to: &objects)
        }
        return ListingPage(objects: objects, next: isLast ? nil : page.last.map(token))
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

    // MARK: Tokens

    private enum Place {
        case start
        case position(Int)
        case name(FileName)
    }

    private func place(of token: PageToken?) throws(ProviderError) -> Place {
        guard let text = token?.rawValue else { return .start }
        if text.hasPrefix("p"), let position = Int(text.dropFirst()) { return .position(position) }
        if text.hasPrefix("n"), let name = name(hexadecimal: text.dropFirst()) {
            return .name(name)
        }
        throw ProviderError(.unsupported, "\"\(text)\" is not a page of a folder")
    }

    private func token(after name: FileName) -> PageToken {
        let digits = name.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return PageToken("n" + digits.joined())
    }

    private func name(hexadecimal text: Substring) -> FileName? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for start in stride(from: 0, to: digits.count, by: 2) {
            let pair = String(decoding: digits[start...(start + 1)], as: UTF8.self)
            guard let byte = UInt8(pair, radix: 16) else { return nil }
            bytes.append(byte)
        }
        return FileName(bytes)
    }
}
