import GRDB

// Remote observations that explain a refused operation.

extension Merge {
    mutating func note(
        _ source: RemoteObject?, _ destination: RemoteObject?, _ plan: SyncOperation,
        _ state: SyncState, _ place: Place
    ) throws {
        switch plan {
        case .upload(_, let replaced?):
            // The object there is not the unlinked version that was to be replaced. From now on it
            // is the remote side of the new file.
            try database.removeSynced(replaced)
            changes.unlinked.append(replaced)
            if let source, try dirent(of: state.inode, at: place) != nil {
                try observe(.object(source), of: state.inode)
            }
        case .move, .moveToTemporaryName:
            try noteMove(source, destination, plan, state, place)
        default:
            let observation = source.map { RemoteObservation.object($0) } ?? .gone
            if state.synced == nil {
                // For an inode that was never sent, an object seen under a name matters only while
                // the inode has that name.
                guard observation != .gone, try dirent(of: state.inode, at: place) != nil,
                    try !hasNamesake(place.name, in: place.parent, except: state.inode)
                else { return }
            }
            if observation == .gone {
                try observeGone([state.inode])
            } else {
                try observe(observation, of: state.inode)
            }
        }
    }

    /// Returns the name of an inode if it is the one that was sent.
    private func dirent(of inode: InodeNumber, at place: Place) throws -> Dirent? {
        try database.dirent(of: inode)
            .flatMap { ($0.parent, $0.name) == (place.parent, place.name) ? $0 : nil }
    }

    private mutating func noteMove(
        _ source: RemoteObject?, _ destination: RemoteObject?, _ plan: SyncOperation,
        _ state: SyncState, _ place: Place
    ) throws {
        func isSame(_ object: RemoteObject) -> Bool {
            object.kind == state.kind
                && (object.kind != .file || object.etag == state.baseVersion)
        }
        let (isOurs, isStillThere) = (destination.map(isSame), source.map(isSame))
        if isStillThere != true, isOurs == true, let synced = state.synced {
            // The move had succeeded; only its answer was lost. The object at the old place is
            // another one.
            var synced = synced
            if case .move(let replaced?) = plan {
                try database.removeSynced(replaced.inode)
                changes.unlinked.append(replaced.inode)
            }
            (synced.parent, synced.name) = (place.parent, place.name)
            try database.setSynced(synced, of: state.inode)
            return
        }
        switch (plan, destination) {
        case (.move(let replaced?), let destination?):
            try observe(.object(destination), of: replaced.inode)
        case (.move(let replaced?), nil):
            try observeGone([replaced.inode])
        case (.move(nil), let destination?):
            // An unseen object has the name and keeps it; the local inode, if it still has that
            // name, is renamed.
            guard let dirent = try dirent(of: state.inode, at: place),
                try !hasNamesake(place.name, in: place.parent, except: state.inode),
                try !context.isOutOfNames(state.inode, in: database),
                try !context.isLeftToWriter(state.inode, in: database)
            else { break }
            try displace(dirent)
            try install(destination, in: place.parent)
        default:
            // An object at our temporary name is left for the user to see and remove.
            break
        }
        guard let source else { return try observeGone([state.inode]) }
        try observe(.object(source), of: state.inode)
    }
}
