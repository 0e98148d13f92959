extension Engine {
    /// Returns the attributes of an inode. POSIX: `stat`.
    ///
    /// Waits for the metadata that a listing lacks, see ``requireMetadata(of:)``.
    ///
    /// - Throws: `.notFound` if the inode no longer exists.
    package func attributes(of inode: InodeNumber) throws(Blocked) -> Attributes {
        let found = try store.readBriefly { try $0.seen($0.existingInode(inode)) }
        if found.record.kind == .directory { remote.schedule.noteUse(of: inode) }
        try remote.metadata.requireMetadata(of: found)
        return try local.tree.current(found.record)
    }

    /// Changes attributes. POSIX: `chmod`, `chown`, `truncate`, `utimensat`. The kernel has checked
    /// permissions.
    ///
    /// - Throws: `.notFound`, `.isDirectory` and `.tooLarge` for a size, `.outOfSpace`,
    ///   `.readOnly`.
    package func setAttributes(
        of inode: InodeNumber, to change: AttributeChange
    ) throws(Blocked) -> Attributes {
        try configuration.requireWritable("change inode \(inode)")
        if change.size == nil { local.agenda.noteChange() }
        do throws(Blocked) {
            if let size = change.size {
                // The rest of the version is kept, as of a file that is opened for writing.
                if size > 0 {
                    try local.content.withFile(inode) { file throws(Blocked) in
                        try requireVersion(of: file, for: .write)
                    }
                }
                try local.content.truncate(inode, to: size)
            }
            return remote.schedule.marking(try local.tree.setAttributes(of: inode, to: change))
        } catch {
            // The kernel takes a failed change for none, and keeps size and bytes.
            if change.size != nil { local.kernelCache.announce([.inode(inode)]) }
            throw error
        }
    }

    /// Clears the set-user-ID and set-group-ID bits of a file, as for each write by a user without the
    /// capability FSETID. Looks at the mode only if it may have such bits.
    func clearSetID(of inode: InodeNumber) throws(Blocked) {
        guard local.files.existing(inode)?.takeSetIDCheck() != false else { return }
        let mode = try store.read { try $0.existingInode(inode).mode }
        guard mode.withoutSetID != mode else { return }
        var change = AttributeChange()
        change.clearsSetID = true
        do throws(Blocked) {
            _ = try setAttributes(of: inode, to: change)
        } catch {
            local.files.existing(inode)?.noteNewMode()
            throw error
        }
        // The answer to a write or an open carries no mode, and the kernel would run the file with the
        // one that it knows.
        local.kernelCache.announce([.attributes(inode)])
    }

    /// Total and available space: the remote's if known, otherwise ``StorageSpace/unknown``. Writes
    /// that do not fit onto the local disk fail separately. POSIX: `statvfs`.
    package var space: StorageSpace { remote.gate.remoteSpace ?? .unknown }

    /// Returns the value of an attribute set by a program, or of one of Apus:
    ///
    /// - `user.apus.state`: ``ItemState`` of the inode.
    /// - `user.apus.error`: why its upload failed, if it did, and the remedy.
    /// - `user.apus.control`: the path of the control socket.
    /// - `user.apus.pin`: `1` if it is pinned itself, `inherited` if a directory above it is.
    ///
    /// - Throws: `.noAttribute`.
    package func extendedAttribute(_ name: [UInt8], of inode: InodeNumber) throws(Blocked)
        -> [UInt8]
    {
        let value =
            ExtendedAttributes.isKept(name)
            ? try local.tree.extendedAttributes(of: inode)[name]
            : try ownAttribute(String(decoding: name, as: UTF8.self), of: inode)
        guard let value else { throw Tree.noAttribute(name, inode) }
        return value
    }

    private func ownAttribute(_ name: String, of inode: InodeNumber) throws(Blocked) -> [UInt8]? {
        switch name {
        case "user.apus.state":
            return Array(try itemState(of: inode).rawValue.utf8)
        case "user.apus.control":
            return Array(configuration.controlSocket.utf8)
        case PinRequests.attribute:
            return try pins.pin(of: inode).map { Array(($0 == inode ? "1" : "inherited").utf8) }
        case "user.apus.error":
            guard let pending = try store.readBriefly({ try $0.pending(inode) }),
                let failure = pending.failure
            else { return nil }
            let remedy = failure.remedy.map { "; \($0)" } ?? ""
            let delay =
                pending.due.map(local.agenda.delay).map { "in \($0.components.seconds + 1) s" }
                ?? "soon"
            let retry = failure.isPassing ? "waiting to retry \(delay): " : ""
            let text = InodeNaming(self).text("\(failure.what): \(failure.why)\(remedy)")
            return Array((retry + text).utf8)
        default:
            return nil
        }
    }

    /// Returns the attributes of a named item; nil if it is known that there is none: if one appears,
    /// the kernel's caches are told. Waits for the metadata that a listing lacks, see
    /// ``requireMetadata(of:)``; in a directory that was never listed, for the name, see
    /// ``NameFinder``; for a missing name, see ``FirstLooks``.
    ///
    /// - Throws: `.notFound` if that is not known, or if the directory was removed; `.notDirectory`.
    package func find(_ name: FileName, in parent: InodeNumber) throws(Blocked) -> Attributes? {
        remote.schedule.noteUse(of: parent)
        remote.walks.noteUse(of: parent)
        let found = try store.readBriefly { database -> FoundRecord? in
            if let inode = try database.inode(named: name, in: parent) {
                return try database.seen(inode)
            }
            guard try database.existingDirectory(parent).isListed else {
                throw Blocked.awaits(.name(name, parent))
            }
            return nil
        }
        guard let found else {
            try remote.lister.requireFirstLook(at: parent)
            return nil
        }
        try remote.metadata.requireMetadata(of: found)
        return remote.schedule.marking(try local.tree.current(found.record))
    }

    /// Returns up to `limit` entries of a directory in the order of their cookies, those after
    /// `cookie`.
    ///
    /// A name that stays is seen exactly once from the first call to the last, regardless of other
    /// changes meanwhile. POSIX: `readdir`.
    ///
    /// - Parameter cookie: 0 for the first call, otherwise that of the last entry seen.
    package func entries(
        of directory: InodeNumber, after cookie: Int64, limit: Int
    ) throws(Blocked) -> [DirectoryEntry] {
        remote.schedule.noteUse(of: directory)
        remote.walks.noteUse(of: directory)
        return try local.tree.entries(of: directory) {
            try $0.entries(of: directory, after: cookie, limit: limit)
        }.map { dirent, inode throws(Blocked) in
            DirectoryEntry(
                name: dirent.name,
                attributes: remote.schedule.marking(try local.tree.current(inode)),
                cookie: dirent.cookie)
        }
    }

    /// Returns the parent of a directory, for `..`; the root is its own.
    ///
    /// - Throws: `.notFound` for a removed directory.
    package func parent(of directory: InodeNumber) throws(Blocked) -> InodeNumber {
        try local.tree.parent(of: directory)
    }

    /// - Throws: `.notFound`, `.invalid` if it is not a symbolic link.
    package func symbolicLink(_ inode: InodeNumber) throws(Blocked) -> SymbolicLink {
        try local.tree.symbolicLink(inode)
    }

    // MARK: Creating and removing

    /// Creates a file and opens it for writing; one ``release(_:access:)`` follows.
    ///
    /// - Throws: `.exists`, `.notFound` if the parent is gone, `.readOnly`.
    package func createFile(
        _ name: FileName, in parent: InodeNumber, mode: UInt16, caller: Caller
    ) throws(Blocked) -> Attributes {
        local.agenda.noteChange()
        let created = try local.tree.createFile(name, in: parent, mode: mode, caller: caller)
        do throws(Blocked) {
            try local.content.openNew(created)
        } catch {
            // There is no room for its content: the name must not stay, as nothing would ever
            // release it.
            // The kernel takes a failed creation for no change; and if this removal fails, too, there is
            // a name that it may take for absent.
            defer {
                local.kernelCache.announce([.name(name, parent), .attributes(parent)])
            }
            // Another client's file may have got the name meanwhile.
            let holder = try store.read { try $0.dirent(name, in: parent)?.inode }
            if holder == created.id { try unlink(name, in: parent) }
            throw error
        }
        return created.attributes
    }

    /// - Throws: `.exists`, `.notFound` if the parent is gone, `.readOnly`.
    package func createDirectory(
        _ name: FileName, in parent: InodeNumber, mode: UInt16, caller: Caller
    ) throws(Blocked) -> Attributes {
        local.agenda.noteChange()
        return remote.schedule.marking(
            try local.tree.createDirectory(name, in: parent, mode: mode, caller: caller))
    }

    /// - Throws: `.exists`, `.notFound` if the parent is gone, `.readOnly`, `.unsupported` if the
    ///   remote keeps no symbolic links, `.nameTooLong` for a target over 4095 bytes.
    package func createSymlink(
        _ name: FileName, in parent: InodeNumber, target: [UInt8], caller: Caller
    ) throws(Blocked) -> Attributes {
        local.agenda.noteChange()
        return try local.tree.createSymlink(name, in: parent, target: target, caller: caller)
    }

    /// - Throws: `.isDirectory`, `.notFound`, `.readOnly`.
    package func unlink(_ name: FileName, in parent: InodeNumber) throws(Blocked) {
        try remove(name, in: parent, isDirectory: false)
    }

    /// - Throws: `.notDirectory`, `.notEmpty`, `.notFound`, `.readOnly`.
    package func removeDirectory(_ name: FileName, in parent: InodeNumber) throws(Blocked) {
        try remove(name, in: parent, isDirectory: true)
    }

    /// - Parameter keepsCopy: Whether a file goes to the trash, if all its bytes are local.
    func remove(
        _ name: FileName, in parent: InodeNumber, isDirectory: Bool, keepsCopy: Bool = false
    ) throws(Blocked) {
        local.agenda.noteChange()
        // Before the transaction, so that the removal is not due earlier than announced.
        let due = local.agenda.due(after: configuration.deletionDelay)
        let removal = try local.tree.remove(
            name, in: parent, isDirectory: isDirectory, keepsCopy: keepsCopy)
        if removal.isOnRemote { remote.deletions.noteLocal() }
        if removal.hasUncovered { remote.schedule.requireListing(of: parent) }
        local.agenda.notify(due: due)
        local.reaper.reap(
            removal.inode, wasOnlyRemote: removal.isOnRemote && !removal.hasContent)
    }

    /// Changes the name or parent of an inode, or both. Linux: `renameat2`.
    ///
    /// - Parameter keepsCopy: Whether a replaced file goes to the trash, if all its bytes are local.
    /// - Throws: `.notFound`, `.exists`, `.notEmpty`, `.isDirectory`, `.notDirectory`, `.invalid`
    ///   for a directory moved below itself, `.readOnly`.
    package func rename(
        _ name: FileName, in parent: InodeNumber, to newName: FileName,
        in newParent: InodeNumber, mode: RenameMode, keepsCopy: Bool = false
    ) throws(Blocked) {
        local.agenda.noteChange()
        let renaming = try local.tree.rename(
            name, in: parent, to: newName, in: newParent, mode: mode, keepsCopy: keepsCopy)
        if let replaced = renaming.replaced { local.reaper.reap([replaced]) }
        for directory in renaming.uncovered { remote.schedule.requireListing(of: directory) }
        // It may be below a pinned directory now.
        local.pins.signal.notify()
    }

    // MARK: Extended attributes

    /// Returns the attributes set by programs, which may be copied. Those of Apus are only found by
    /// name; otherwise every `cp -a` would copy them.
    package func extendedAttributes(of inode: InodeNumber) throws(Blocked) -> ExtendedAttributes {
        try local.tree.extendedAttributes(of: inode)
    }

    /// Sets or removes an attribute; `user.apus.pin` pins or unpins the inode.
    ///
    /// - Parameter value: nil to remove it.
    /// - Throws: `.unsupported` for a name that is not kept, or on a symbolic link; `.exists`,
    ///   `.noAttribute`; `.tooLarge`; `.outOfSpace` if the store could not keep it; `.readOnly`.
    package func setExtendedAttribute(
        _ name: [UInt8], to value: [UInt8]?, _ change: ExtendedAttributeChange = .set,
        of inode: InodeNumber
    ) throws(Blocked) {
        if name == Array(PinRequests.attribute.utf8) {
            return try pins.setAttribute(to: value, change, of: inode)
        }
        local.agenda.noteChange()
        try local.tree.setExtendedAttribute(name, to: value, change, of: inode)
    }
}
