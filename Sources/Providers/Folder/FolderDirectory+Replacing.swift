import Engine
import Glibc
import ProviderSupport
import Synchronization
import SystemCalls

/// Conditional changes, on a file system that has none.
///
/// They make the change in one reversible step, check the result, and reverse it if another version
/// was affected. So a version that Apus has not seen is never lost, even if another program writes
/// it at that moment. On a file system without such steps they check first and then change; a lock
/// at least excludes our own tasks in between.
extension FolderDirectory {
    private static let checkAndChange = Mutex<Void>(())

    /// Replaces one version of `name` by the file `new`, a swap name in this directory.
    ///
    /// - Parameter own: The status of `new`.
    /// - Throws: `.changed` with both at their old names, `.missing`.
    func replace(
        _ name: FileName, of etag: ETag, by new: FileName, _ own: FolderStatus
    ) throws(ProviderError) {
        try expect(etag, at: name)
        do {
            try rename(new, to: self, name, replacing: .exchange)
        } catch {
            guard error.kind == .unsupported else { throw error }
            return try replaceAfterCheck(name, of: etag, by: new)
        }
        if try status(of: new).version == etag.description {
            // After a failure a swap name remains, which is removed later as a leftover.
            try? removeFile(new)
        } else {
            try exchangeBack(new, own, from: name)
            throw ProviderError(.changed, "it was changed at this moment")
        }
    }

    /// Exchanges the names until `new` is our own file again. More than one exchange is needed only if
    /// other programs replace the file in the same microseconds.
    private func exchangeBack(
        _ new: FileName, _ own: FolderStatus, from name: FileName
    ) throws(ProviderError) {
        for _ in 0..<1_000 {
            do {
                try rename(new, to: self, name, replacing: .exchange)
            } catch {
                guard error.kind == .missing else { throw error }
                // Another program has deleted our file; the replaced one still belongs there.
                return try rename(new, to: self, name, replacing: .never)
            }
            if try status(of: new).isSameObject(as: own) { return }
        }
        throw ProviderError(.busy, "other programs keep replacing it")
    }

    private func replaceAfterCheck(
        _ name: FileName, of etag: ETag, by new: FileName
    ) throws(ProviderError) {
        try Self.checkAndChange.withLock { _ throws(ProviderError) in
            try expect(etag, at: name)
            try rename(new, to: self, name, replacing: .always)
        }
    }

    /// Deletes one version of a file, or a symbolic link that was seen as `expected`.
    ///
    /// - Throws: `.changed` with everything as it was, `.missing`.
    func removeFile(_ name: FileName, seenAs expected: FolderStatus) throws(ProviderError) {
        let swap = FolderName.swap(expected.version, expected.version)
        do {
            try rename(name, to: self, swap, replacing: .never)
        } catch {
            guard error.kind == .unsupported else { throw error }
            // The random name is unused, so nothing is replaced.
            try rename(name, to: self, swap, replacing: .always)
        }
        guard let found = try statusIfPresent(of: swap) else { return }
        guard found.version == expected.version else {
            try moveWithoutReplacing(swap, to: self, name)
            throw ProviderError(.changed, "it was changed at this moment")
        }
        try removeFile(swap)
    }

    /// Renames `name` to an unused name.
    ///
    /// - Throws: `.exists`.
    func moveWithoutReplacing(
        _ name: FileName, to directory: FolderDirectory, _ newName: FileName
    ) throws(ProviderError) {
        do {
            return try rename(name, to: directory, newName, replacing: .never)
        } catch {
            guard error.kind == .unsupported else { throw error }
        }
        if try linkAndUnlink(name, to: directory, newName) { return }
        try Self.checkAndChange.withLock { _ throws(ProviderError) in
            guard try directory.statusIfPresent(of: newName) == nil else {
                throw ProviderError(.exists, "something has this name")
            }
            try rename(name, to: directory, newName, replacing: .always)
        }
    }

    /// - Returns: false if the file system has no hard links, or not for this object.
    private func linkAndUnlink(
        _ name: FileName, to directory: FolderDirectory, _ newName: FileName
    ) throws(ProviderError) -> Bool {
        do {
            try link(name, to: directory, newName)
        } catch {
            if error.kind == .unsupported || error.kind == .denied { return false }
            throw error
        }
        try removeFile(name)
        return true
    }

    /// Replaces one version of a file by one version of another.
    ///
    /// - Throws: `.changed` with both at their old names, `.missing`.
    func move(
        _ name: FileName, seenAs own: FolderStatus, to directory: FolderDirectory,
        _ newName: FileName, of etag: ETag
    ) throws(ProviderError) {
        try directory.expect(etag, at: newName)
        do {
            try rename(name, to: directory, newName, replacing: .exchange)
        } catch {
            guard error.kind == .unsupported else { throw error }
            return try Self.checkAndChange.withLock { _ throws(ProviderError) in
                try directory.expect(etag, at: newName)
                try rename(name, to: directory, newName, replacing: .always)
            }
        }
        let replaced = try status(of: name)
        let moved = try directory.status(of: newName)
        guard replaced.version == etag.description, moved.version == own.version else {
            try rename(name, to: directory, newName, replacing: .exchange)
            throw ProviderError(.changed, "it was changed at this moment")
        }
        try removeFile(name, seenAs: replaced)
    }

    /// - Throws: `.changed` if `name` is another version than `etag` or not a file; `.missing`.
    func expect(_ etag: ETag, at name: FileName) throws(ProviderError) {
        let found = try status(of: name)
        guard found.kind == .file, found.etag == etag else {
            throw ProviderError(.changed, "it is version \(found.etag), not \(etag)")
        }
    }

    // MARK: Leftovers

    /// Removes a hidden file unless a live process may be using it.
    func removeLeftover(_ name: FileName) {
        guard let file = try? open(name, O_RDWR | O_NONBLOCK),
            flock(file.rawValue, LOCK_EX | LOCK_NB) == 0
        else { return }
        if let versions = FolderName.swapVersions(of: name) {
            guard let found = try? FolderStatus(of: file),
                versions.contains(found.version)
            else { return }
        }
        try? removeFile(name)
    }

    /// Removes all leftovers in this directory.
    func removeLeftovers() throws(ProviderError) {
        let stream = try FolderDirectoryStream(self)
        while let name = try stream.next() {
            if FolderName.isReserved(name) { removeLeftover(name) }
        }
    }
}
