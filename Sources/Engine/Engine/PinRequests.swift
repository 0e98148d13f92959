import Logging

extension Engine {
    package var pins: PinRequests { PinRequests(engine: self) }
}

/// Requests of users and programs about pinned files and directories.
package struct PinRequests: Sendable {
    fileprivate let engine: Engine

    private var pins: Pins { engine.local.pins }
    private var store: Store { engine.store }

    /// A pinned file or directory, and all that is at and below it.
    package struct Item: Hashable, Sendable {
        /// The path from the mount point on, without a leading slash.
        package var path: String
        package var sums: PinSums
    }

    /// Keeps inodes on this machine, with all that is or comes below them: their bytes are fetched in the background
    /// and not evicted. Directories that are not listed are listed first.
    ///
    /// - Parameter report: Receives the sums of these inodes while they are counted.
    /// - Returns: nil if all pinned files fit into the cache; otherwise nothing is pinned.
    /// - Throws: `.notFound`, and errors of a listing; `.interrupted` if the task is cancelled.
    package func pin(
        _ inodes: [InodeNumber], report: (PinSums) -> Void = { _ in }
    ) async throws(EngineError) -> PinExcess? {
        try await list(atAndBelow: inodes, report)
        return try completed { () throws(Blocked) in
            let bytes = try pins.sums(with: inodes).bytes
            if Task.isCancelled { throw .failure(.interrupted, "count pinned files") }
            let bytesMax = try engine.local.space.bound()
            if bytes > bytesMax { return PinExcess(bytes: bytes, bytesMax: bytesMax) }
            try pins.pin(inodes)
            return nil
        }
    }

    /// Lists the directories at and below some inodes that were never listed.
    ///
    /// - Parameter report: Receives the sums of the files found so far.
    func list(
        atAndBelow inodes: [InodeNumber], _ report: (PinSums) -> Void
    ) async throws(EngineError) {
        var walk = PinWalk(inodes)
        var sums = PinSums()
        while let step = try completed(do: pins.next(&walk)) {
            switch step {
            case .files(let files):
                _ = pins.add(files, to: &sums)
                report(sums)
            case .directory(_, isListed: true): break
            case .directory(let directory, isListed: false):
                try await engine.retrying { () throws(Blocked) in
                    try store.read { database in
                        // One that is removed meanwhile has no names.
                        guard let record = try database.inode(directory), record.links > 0,
                            !record.isListed
                        else { return }
                        throw Blocked.awaits(.listing(directory))
                    }
                }
            }
        }
    }

    /// Unpins an inode and all that is pinned below it. Its bytes stay until they are evicted.
    ///
    /// - Returns: The number of inodes that were pinned themselves.
    /// - Throws: `.invalid` if it stays pinned with a directory above it.
    package func unpin(_ inode: InodeNumber) throws(EngineError) -> Int {
        try completed(do: pins.unpin(inode))
    }

    /// Returns the sums of all that is at and below some inodes, as far as it is known here.
    package func sums(atAndBelow inodes: [InodeNumber]) throws(EngineError) -> PinSums {
        try completed(do: pins.sums(atAndBelow: inodes))
    }

    package func status() throws(EngineError) -> PinStatus {
        var status = try completed(do: pins.status())
        if let refusal = status.refusal,
            engine.clock.uptime - refusal.time >= Self.refusalTime
        {
            status.refusal = nil
        }
        return status
    }

    /// How long the status has the refusal of an attribute.
    private static var refusalTime: Duration { .seconds(3_600) }

    /// Returns all items that are pinned themselves, by path.
    package func items() throws(EngineError) -> [Item] {
        try completed { () throws(Blocked) in
            var items: [Item] = []
            for (inode, path) in try store.read({ database in
                try database.pins().map { ($0, ObjectKey(try database.path(of: $0)).description) }
            }) {
                items.append(Item(path: path, sums: try pins.sums(atAndBelow: [inode])))
            }
            return items.sorted { $0.path < $1.path }
        }
    }

    // MARK: As an attribute

    static var attribute: String { "user.apus.pin" }

    /// Returns the inode by which one is pinned; nil if it is not.
    func pin(of inode: InodeNumber) throws(Blocked) -> InodeNumber? {
        try store.readBriefly { database in
            var lookup = try PinLookup(database)
            return try lookup.pin(of: inode)
        }
    }

    /// Directories and pages of names that are counted before an attribute is set: the kernel waits, and holds the
    /// directory.
    private static var countedStepsMax: Int { 512 }

    /// Pins or unpins an inode. What is not listed, or too much to be counted at once, is counted afterwards: if it
    /// does not fit, nothing is fetched, and the status has the reason.
    ///
    /// - Throws: `.invalid` for another value than 1 and 0; `.outOfSpace` if the known files do not fit.
    func setAttribute(
        to value: [UInt8]?, _ change: ExtendedAttributeChange, of inode: InodeNumber
    ) throws(Blocked) {
        let isPin = try store.readBriefly { try $0.isPin(inode) }
        let attempt = "set \(Self.attribute) of inode \(inode)"
        switch value.map({ String(decoding: $0, as: UTF8.self) }) {
        case "1":
            if isPin, change == .create { throw .failure(.exists, attempt) }
            if !isPin, change == .replace {
                throw Tree.noAttribute(Array(Self.attribute.utf8), inode)
            }
            try requireRoom(for: inode)
            try pins.pin([inode])
        case "0": _ = try pins.unpin(inode)
        case nil:
            if try pins.unpin(inode) == 0, !isPin {
                throw Tree.noAttribute(Array(Self.attribute.utf8), inode)
            }
        default: throw .failure(.invalid, attempt)
        }
    }

    /// - Throws: `.outOfSpace` if the known files do not fit; the log and the status then have both sizes, as the
    ///   program gets only a number.
    private func requireRoom(for inode: InodeNumber) throws(Blocked) {
        let sums = try pins.leastSums(with: inode, stepsMax: Self.countedStepsMax)
        let bytesMax = try engine.local.space.bound()
        guard let bytes = sums?.bytes, bytes > bytesMax else { return }
        let path = try store.readBriefly { ObjectKey(try $0.path(of: inode)).description }
        engine.logger.warning(
            "pin refused: all pinned files together do not fit the cache",
            metadata: [
                "path": "\(path)", "bytes": "\(bytes)", "bytesMax": "\(bytesMax)",
                "remedy": "\(Self.excessRemedy)",
            ])
        pins.setRefusal(
            PinStatus.Refusal(
                path: path, excess: PinExcess(bytes: bytes, bytesMax: bytesMax),
                time: engine.clock.uptime))
        throw .failure(
            .outOfSpace,
            "pin \"\(path)\" (all pinned files take \(bytes) bytes, the cache has \(bytesMax))",
            remedy: Self.excessRemedy)
    }

    private static var excessRemedy: String {
        "unpin other files, or mount with a larger --cache-size"
    }
}
