import Engine

/// Judges a mount that shares its remote with another client, loses its power, or has a bad disk.
///
/// Answers depend on which client was first, so only their plausibility is checked. In the end,
/// without faults, both sides must be equal (I7), and nothing may be lost: see ``LossOracle``.
struct LossJudge: Judge {
    private let mount: SimulatedMount
    private var oracle = LossOracle()
    private var storage: StorageCheck
    private var hadPowerCuts = false
    /// Names that must survive a power cut, by inode.
    private var durableNames: [InodeNumber: (parent: InodeNumber, name: FileName)] = [:]
    /// Names that must survive a power cut, and the files of which any may have them: the one that
    /// was synchronised, and those that were renamed over it.
    private var replacedNames = ReplacedNames()
    /// All names at the beginning of an orderly unmount.
    private var namesBeforeStop: [(InodeNumber, [DirectoryEntry])] = []

    init(_ mount: SimulatedMount) {
        self.mount = mount
        storage = StorageCheck(mount)
    }

    mutating func accepts(_ step: OtherClientStep) -> Bool { true }

    /// Forgets durable names that the step is about to remove or rename.
    mutating func prepare(for step: ProgramStep) {
        switch step {
        case .unlink(let path), .removeDirectory(let path):
            replacedNames.forget(place(of: path))
            forgetDurableName(at: path)
        case .rename(let from, let to, _):
            noteReplacement(from, to)
            forgetDurableName(at: from)
            forgetDurableName(at: to)
        default: break
        }
    }

    mutating func judge(
        _ step: ProgramStep, _ answer: Result<ProgramAnswer, EngineError>,
        _ touched: (inode: InodeNumber, version: ETag?)?, since start: Duration,
        _ faultPlan: FaultPlan
    ) throws(ProgramFailure) {
        switch answer {
        case .success(let answer): try noteGranted(step, answer, touched?.inode, faultPlan)
        case .failure(let error):
            // `fsync` reports a name that cannot be sent. With an old listing, one that resembles
            // another seems to be that.
            let isRefusedName =
                error.kind == .unsupported
                && (mount.provider.traits.names.isFolding || faultPlan.hadStaleListings)
            guard
                mount.life.isDead || faultPlan.excuses(error, since: start) || error.isPlausible
                    || isRefusedName
            else {
                throw ProgramFailure("refused: \(error)")
            }
        }
        if let (inode, version) = touched {
            noteTouched(step, inode, version, isCertain: (try? answer.get()) != nil)
        }
        // Where the database fails too, it is told as soon as that can be written.
        if faultPlan.hadSyncFaults, !faultPlan.hadDiskFaults, !mount.life.isDead {
            try storage.checkStatus(of: oracle.files.keys.sorted())
        }
    }

    private mutating func noteGranted(
        _ step: ProgramStep, _ answer: ProgramAnswer, _ touched: InodeNumber?,
        _ faultPlan: FaultPlan
    ) throws(ProgramFailure) {
        switch (step, answer) {
        case (.create, .inode(let inode)):
            oracle.meet(inode, [])
            oracle.change(inode, version: nil, isCertain: true) { _ in }
        case (.synchronize, .inode(let inode)):
            oracle.synchronize(inode)
            try storage.noteSynchronized(inode)
        case (.synchronizeDirectory, .inode(let inode)):
            keep(mount.engine.knownEntries(of: inode), in: inode)
        case (.read(_, let offset, let count), .bytes(let bytes)):
            guard let inode = touched else { return }
            let decides = !faultPlan.hadDiskFaults && !faultPlan.hadSyncFaults
            guard oracle.read(inode, bytes, at: offset, count: count, decides: decides) else {
                throw ProgramFailure("I5: bytes were read that inode \(inode) never had")
            }
        default: break
        }
    }

    /// Records a change of a file, acknowledged or not.
    private mutating func noteTouched(
        _ step: ProgramStep, _ inode: InodeNumber, _ version: ETag?, isCertain: Bool
    ) {
        if step.changesContent { replacedNames.forget(inode) }
        switch step {
        case .open(_, _, _, let isTruncating):
            meet(inode, version)
            guard isTruncating else { return }
            oracle.change(inode, version: version, isCertain: isCertain) { $0 = [] }
        case .write(_, let offset, let count, let seed):
            oracle.change(inode, version: version, isCertain: isCertain) { content in
                content.write(ProgramBytes.make(count, seed: seed), at: offset)
            }
        case .resize(_, let size):
            meet(inode, version)
            oracle.change(inode, version: version, isCertain: isCertain) { $0.resize(to: size) }
        case .unlink: oracle.remove(inode, version: version)
        case .rename where isCertain || mount.life.isDead: oracle.remove(inode, version: version)
        default: break
        }
    }

    /// Records the content of an inode from its synced version, before a program changes it.
    private mutating func meet(_ inode: InodeNumber, _ version: ETag?) {
        guard oracle.files[inode] == nil else { return }
        // A listing has replaced it since it was found: nothing tells which version its bytes are of.
        if version == nil, (try? mount.engine.attributes(of: inode).links) == 0 { return }
        let bytes = version.flatMap { version in
            mount.provider.everyContent().first { $0.etags.contains(version) }?.bytes
        }
        oracle.meet(inode, bytes ?? [])
    }

    // MARK: Durable names

    /// Records names that were synced. A file's name lasts as long as its bytes. If the remote is
    /// listed again from its old state, its names replace them.
    private mutating func keep(_ names: [DirectoryEntry], in directory: InodeNumber) {
        guard !hadPowerCuts else { return }
        for entry in names where oracle.isDurable(entry.attributes.inode) {
            durableNames[entry.attributes.inode] = (directory, entry.name)
        }
    }

    private mutating func forgetDurableName(at path: Path) {
        do throws(Blocked) {
            var inode = InodeNumber.root
            for name in path.names { inode = try mount.engine.knownInode(name, in: inode) }
            durableNames[inode] = nil
        } catch {
            if case .failure(let error) = error, error.kind == .notFound { return }
            // The inode cannot be determined without the remote.
            durableNames = [:]
        }
    }

    /// The place of a path, if it is known without the remote.
    private func place(of path: Path) -> NamePlace? {
        guard let name = path.names.last else { return nil }
        var parent = InodeNumber.root
        for name in path.names.dropLast() {
            guard let inode = try? mount.engine.knownInode(name, in: parent) else { return nil }
            parent = inode
        }
        return NamePlace(parent: parent, name: name)
    }

    /// Records that a file is about to be renamed over one whose name must survive a power cut.
    private mutating func noteReplacement(_ from: Path, _ to: Path) {
        replacedNames.forget(place(of: from))
        guard !hadPowerCuts, let target = place(of: to), let source = place(of: from),
            let moved = try? mount.engine.knownInode(source.name, in: source.parent),
            let replaced = try? mount.engine.knownInode(target.name, in: target.parent),
            moved != replaced
        else { return replacedNames.forget(place(of: to)) }
        // A change since may be lost with the whole file.
        let isDurable =
            durableNames[replaced].map { $0 == (target.parent, target.name) } == true
            && oracle.isDurable(replaced)
        replacedNames.note(target, of: replaced, isDurable: isDurable, by: moved)
    }

    /// Checks that each name that was durable before a rename over it is there after a power cut.
    ///
    /// - Returns: The inode of each, and the files whose content it may have.
    private mutating func checkReplacedNames(
        _ faultPlan: FaultPlan
    ) throws(ProgramFailure) -> [(inode: InodeNumber, files: Set<InodeNumber>)] {
        defer { replacedNames = ReplacedNames() }
        if faultPlan.hadStaleListings { return [] }
        var found: [(inode: InodeNumber, files: Set<InodeNumber>)] = []
        for (place, files) in replacedNames.all {
            guard let inode = try? mount.engine.knownInode(place.name, in: place.parent) else {
                throw ProgramFailure(
                    "I1: the name \"\(place.name)\" in directory \(place.parent) was "
                        + "synchronised, inodes \(files.sorted()) had it, and is gone after the "
                        + "power cut")
            }
            found.append((inode, files))
        }
        return found
    }

    private mutating func checkDurableNames(_ faultPlan: FaultPlan) throws(ProgramFailure) {
        defer { durableNames = [:] }
        if faultPlan.hadStaleListings { return }
        for (inode, place) in durableNames.sorted(by: { $0.key < $1.key })
        where oracle.isDurable(inode) {
            guard (try? mount.engine.knownInode(place.name, in: place.parent)) == inode else {
                throw ProgramFailure(
                    "I1: the name \"\(place.name)\" of inode \(inode) in directory "
                        + "\(place.parent) was synchronised, and is gone after the power cut")
            }
        }
    }

    mutating func prepareForStop() {
        namesBeforeStop = []
        var directories = [InodeNumber.root]
        while let directory = directories.popLast() {
            let entries = mount.engine.knownEntries(of: directory)
            namesBeforeStop.append((directory, entries))
            directories += entries.filter { $0.attributes.kind == .directory }
                .map(\.attributes.inode)
        }
    }

    mutating func noteOrderlyEnd() {
        oracle.noteOrderlyEnd()
        oracle.endanger(storage.endangered(among: oracle.files.keys))
        for (directory, entries) in namesBeforeStop { keep(entries, in: directory) }
    }

    // MARK: After a power cut

    mutating func prepareForPowerCut() {
        let endangered = storage.endangered(among: oracle.files.keys)
        oracle.endanger(endangered)
        for inode in endangered {
            durableNames[inode] = nil
            replacedNames.forget(inode)
        }
    }

    /// Checks after a power cut that all synced names and bytes are present (I1), and that no file
    /// holds bytes that none ever held.
    mutating func checkRestart(wasPowerCut: Bool, _ faultPlan: FaultPlan) async throws {
        storage.noteRestart(wasPowerCut: wasPowerCut, oracle.files.keys.sorted())
        guard wasPowerCut else { return }
        hadPowerCuts = true
        try checkDurableNames(faultPlan)
        let replaced = try checkReplacedNames(faultPlan)
        let everything = mount.provider.everyContent()
        var found: [InodeNumber: [UInt8]] = [:]
        var incomplete: Set<InodeNumber> = []
        var directories = [InodeNumber.root]
        while let directory = directories.popLast() {
            // It may have been replaced on the remote since.
            let entries = try? await mount.engine.allEntries(of: directory)
            for entry in entries ?? [] {
                let inode = entry.attributes.inode
                switch entry.attributes.kind {
                case .directory: directories.append(inode)
                case .symlink: break
                case .file:
                    found[inode] = try await bytes(of: inode)
                    if found[inode] == nil,
                        faultPlan.hadStaleListings || isBaseLost(of: inode, everything)
                    {
                        incomplete.insert(inode)
                    }
                }
            }
        }
        for (inode, files) in replaced {
            guard let bytes = found[inode] else { continue }
            try oracle.checkReplaced(inode, bytes, files: files)
        }
        try oracle.takeStock(found, incomplete: incomplete, everything)
    }

    /// Whether the remote may have lost the base version of a file, so that its missing bytes
    /// cannot be fetched. A stale listing shows such versions, also of objects that have been
    /// renamed.
    private func isBaseLost(of inode: InodeNumber, _ everything: [SimulatedContent]) -> Bool {
        guard let version = try? mount.engine.agreedVersion(of: inode) else { return false }
        return everything.contains { $0.etags.contains(version) && $0.endedBy != nil }
    }

    private func bytes(of inode: InodeNumber) async throws(ProgramFailure) -> [UInt8]? {
        do throws(EngineError) {
            return try await mount.engine.content(of: inode)
        } catch {
            mount.log.note("inode \(inode) cannot be read: \(error)")
            if error.kind == .changedRemotely || error.kind == .notFound { return nil }
            throw ProgramFailure("I1: after the power cut: \(error)")
        }
    }

    // MARK: The end

    mutating func finish(_ faultPlan: FaultPlan) async throws {
        let incomplete = try await ConvergenceCheck(
            mount: mount, mayShowAside: faultPlan.hadStaleListings
        ).waitForAgreement()
        let unstored = try mount.engine.status(below: .root, limit: 1).unstoredCount
        guard unstored <= incomplete.count else {
            throw ProgramFailure("\(unstored) files count as not stored, which the remote has")
        }
        try oracle.check(
            incomplete: incomplete, hadStaleListings: faultPlan.hadStaleListings,
            mount.provider.snapshot(), mount.provider.everyContent())
    }
}

/// A name in a directory.
private struct NamePlace: Hashable {
    var parent: InodeNumber
    var name: FileName
}

/// Names that were synchronised, and then given to other files.
private struct ReplacedNames {
    private var files: [NamePlace: Set<InodeNumber>] = [:]

    var all: [(place: NamePlace, files: Set<InodeNumber>)] {
        files.sorted { ($0.key.parent, "\($0.key.name)") < ($1.key.parent, "\($1.key.name)") }
            .map { ($0.key, $0.value) }
    }

    /// Records that a file takes the place of another one.
    ///
    /// - Parameter isDurable: Whether the other one must keep it over a power cut.
    mutating func note(
        _ place: NamePlace, of replaced: InodeNumber, isDurable: Bool, by moved: InodeNumber
    ) {
        if isDurable { files[place, default: []].insert(replaced) }
        if files[place] != nil { files[place]?.insert(moved) }
    }

    /// Forgets a place that loses its name, or all of them if it is not known which does.
    mutating func forget(_ place: NamePlace?) {
        if let place { files[place] = nil } else { files = [:] }
    }

    /// Forgets the places of a file that is changed: the change may be lost, with the whole file.
    mutating func forget(_ inode: InodeNumber) {
        files = files.filter { !$0.value.contains(inode) }
    }
}

extension ProgramStep {
    fileprivate var changesContent: Bool {
        switch self {
        case .write, .resize: true
        case .open(_, _, _, let isTruncating): isTruncating
        default: false
        }
    }
}

extension EngineError {
    /// Whether the other client may be the reason.
    fileprivate var isPlausible: Bool {
        switch kind {
        case .notFound, .exists, .isDirectory, .notDirectory, .notEmpty, .invalid, .noAttribute,
            .changedRemotely:
            true
        default: false
        }
    }
}

extension Engine {
    /// Returns the names of a directory, none if it was never listed.
    fileprivate func knownEntries(of directory: InodeNumber) -> [DirectoryEntry] {
        (try? entries(of: directory, after: 0, limit: .max)) ?? []
    }

    /// Returns the inode of a name, even if its metadata are missing.
    fileprivate func knownInode(
        _ name: FileName, in parent: InodeNumber
    ) throws(Blocked) -> InodeNumber {
        do throws(Blocked) {
            return try lookup(name, in: parent).inode
        } catch {
            if case .awaits(.look(let inode)) = error { return inode }
            if case .awaits(.firstLook) = error {
                throw .failure(EngineError(.notFound, "find \"\(name)\""))
            }
            throw error
        }
    }
}
