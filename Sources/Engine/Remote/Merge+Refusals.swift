import GRDB

// Remote observations that explain a refused operation.

extension Merge {
    mutating func note(
        _ source: RemoteObject?, _ destination: RemoteObject?, _ plan: SyncOperation,
        _ state: SyncState, _ place: Place
    ) throws {
        switch plan {
        case .upload(_, let replaced?):
            // The old version, unlinked here, is not what we were to replace. From here on it
            // counts as the remote's side of the new file.
            try database.removeSynced(replaced)
            changes.unlinked.append(replaced)
            let dirent = try database.dirent(of: state.inode)
            if let source, dirent?.parent == place.parent, dirent?.name == place.name {
                try observe(.object(source), of: state.inode)
            }
        case .move, .moveAside:
            try noteMove(source, destination, plan, state, place)
        default:
            let observation = source.map { RemoteObservation.object($0) } ?? .gone
            if state.synced == nil {
                // What was seen under a name says something of an inode that never was there only
                // while it has that name.
                let dirent = try database.dirent(of: state.inode)
                guard observation != .gone, dirent?.parent == place.parent,
                    dirent?.name == place.name
                else { return }
            }
            if observation == .gone {
                try observeGone([state.inode])
            } else {
                try observe(observation, of: state.inode)
            }
        }
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
            // It had happened already; only the answer was lost. What is in the old place now is
            // somebody else's.
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
            // The name is taken by something that we have not seen: that gets the name, ours, if it
            // still wants it, another one.
            guard let dirent = try database.dirent(of: state.inode), dirent.parent == place.parent,
                dirent.name == place.name, try !context.isOutOfNames(state.inode, in: database)
            else { break }
            try displace(dirent)
            try install(destination, in: place.parent)
        default:
            // Whatever has the name that we give for a while is for people to see, and to remove.
            break
        }
        guard let source else { return try observeGone([state.inode]) }
        try observe(.object(source), of: state.inode)
    }
}
