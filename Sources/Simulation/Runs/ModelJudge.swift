import Engine

/// Judges a mount that is the only client of its remote by the reference model: every answer must
/// match the model, and in the end so must the mounted tree and the remote.
struct ModelJudge: Judge {
    private let mount: SimulatedMount
    private var model = ReferenceModel()
    /// The open file of each slot.
    private var slots: [Int: ReferenceModel.Number] = [:]
    /// The possible states after an operation that the engine did not acknowledge before it died.
    private var candidates: [ReferenceModel] = []
    /// Every content of any file at any moment (I3).
    private var moments: Set<ContentMark> = [ContentMark([])]

    init(_ mount: SimulatedMount) {
        self.mount = mount
    }

    mutating func accepts(_ step: OtherClientStep) -> Bool {
        let (path, node): (Path, ReferenceModel.Node)
        switch step {
        case .write(let file, let count, let seed):
            let bytes = ProgramBytes.make(count, seed: seed)
            (path, node) = (file, .init(kind: .file, mode: 0o644, bytes: bytes))
        case .makeDirectory(let directory):
            (path, node) = (directory, .init(kind: .directory, mode: 0o755))
        case .overwrite, .delete, .deleteTree, .replaceByDirectory, .rename, .setAttribute:
            return false
        }
        guard !isExcluded(path), let (name, parent) = try? path.place(in: model),
            (try? model.create(node, name, in: parent)) != nil
        else { return false }
        moments.insert(ContentMark(node.bytes))
        return true
    }

    mutating func prepare(for step: ProgramStep) {}

    mutating func judge(
        _ step: ProgramStep, _ answer: Result<ProgramAnswer, EngineError>,
        _ touched: (inode: InodeNumber, version: ETag?)?, since start: Duration,
        _ faultPlan: FaultPlan
    ) throws(ProgramFailure) {
        var after = model
        var expected = Result { () throws(ReferenceModel.Refusal) in
            try step.perform(&after, slots)
        }
        if case .rename(let from, let to, _) = step, isExcluded(to), !isExcluded(from) {
            // As to another file system.
            after = model
            var refusal = ReferenceModel.Refusal(.crossDevice)
            if case .failure(let other) = expected { refusal.kinds.formUnion(other.kinds) }
            expected = .failure(refusal)
        }
        if mount.life.isDead {
            // An interrupted write may have set only the time.
            if after != model { candidates = [model.withTimes(ofWhatChangedIn: after), after] }
            return
        }
        switch (answer, expected) {
        case (.success(let answer), .success(let expected)):
            model = after
            note(step)
            try compare(answer, expected, step)
        case (.failure(let error), .failure(let refusal)) where refusal.kinds.contains(error.kind):
            break
        case (.failure(let error), _) where faultPlan.excuses(error, since: start): break
        case (.failure(let error), _): throw ProgramFailure("refused: \(error)")
        case (.success, .failure(let refusal)):
            throw ProgramFailure("granted, not refused as \(refusal.kinds)")
        }
    }

    private func isExcluded(_ path: Path) -> Bool {
        mount.exclusions.contain(path.names, isDirectory: true)
    }

    private mutating func note(_ step: ProgramStep) {
        switch step {
        case .create(let slot, let path, _), .open(let slot, let path, _, _):
            slots[slot] = try? model.find(path.names)
        case .write, .resize: noteMoments()
        default: break
        }
    }

    private mutating func noteMoments() {
        for (_, node) in model.tree() where model[node].kind == .file {
            moments.insert(ContentMark(model[node].bytes))
        }
    }

    private func compare(
        _ answer: ProgramAnswer, _ expected: ProgramAnswer, _ step: ProgramStep
    ) throws(ProgramFailure) {
        switch (answer, expected) {
        case (.bytes(let bytes), .bytes(let expected)) where bytes != expected:
            throw ProgramFailure(
                "\(bytes.count) bytes were read, not the \(expected.count) that were written")
        case (.look(let look), .look(let expected)) where !look.agrees(with: expected):
            throw ProgramFailure("\(step) shows \(look), not \(expected)")
        case (.names(let names), .names(let expected)) where names.sorted() != expected:
            throw ProgramFailure("\(step) shows the names \(names), not \(expected)")
        default: break
        }
    }

    // MARK: Death

    mutating func prepareForStop() {}

    mutating func noteOrderlyEnd() {}

    mutating func prepareForPowerCut() {}

    /// Determines which of the possible states the mounted tree matches.
    mutating func checkRestart(wasPowerCut: Bool, _ faultPlan: FaultPlan) async throws {
        let candidates = [model] + candidates
        self.candidates = []
        var complaints: [String] = []
        for candidate in candidates.reversed() {
            do throws(ProgramFailure) {
                model = try await mountedState(like: candidate, among: candidates)
                return noteMoments()
            } catch {
                complaints.append("\(error)")
            }
        }
        throw ProgramFailure("after the kill: " + complaints.joined(separator: "; nor: "))
    }

    /// Returns the mounted state if it matches a candidate, except for unacknowledged writes, any
    /// part of which may be present.
    private func mountedState(
        like candidate: ReferenceModel, among candidates: [ReferenceModel]
    ) async throws(ProgramFailure) -> ReferenceModel {
        let check = TreeCheck(engine: mount.engine, model: candidate)
        try await check.check(readsBytes: false)
        var state = candidate
        for (names, node) in candidate.tree() where candidate[node].kind == .file {
            let versions = candidates.filter { $0.has(node) }.map { $0[node].bytes }
            guard Set(versions).count > 1 else { continue }
            let bytes = try await check.bytes(of: Path(names))
            guard bytes.count == candidate[node].bytes.count,
                Mixture.isMixture(bytes, of: versions)
            else {
                throw ProgramFailure(
                    "\(Path(names)) \(difference(bytes, candidate[node].bytes))")
            }
            state[node].bytes = bytes
        }
        return state
    }

    // MARK: The end

    mutating func finish(_ faultPlan: FaultPlan) async throws {
        // If the last requests were lost, an outage is about to begin, in which reads fail at once.
        FaultPlan().apply(to: mount.provider)
        try await mount.clock.sleep(until: mount.clock.uptime + .seconds(10))
        guard try await mount.settle() else {
            let items = try mount.engine.status(below: .root, limit: 5).items
            throw ProgramFailure("changes stay pending: \(items)")
        }
        try await TreeCheck(engine: mount.engine, model: model).check(readsBytes: true)
        try checkRemote()
        try checkMoments()
    }

    /// Compares the remote with the model.
    private func checkRemote() throws(ProgramFailure) {
        let remote = ReferenceModel(mount.provider.snapshot(), mount.provider.attributes())
        for (names, number) in model.tree() {
            let path = Path(names)
            if isExcluded(path) { continue }
            guard let found = try? remote.find(names) else {
                throw ProgramFailure("the remote has no \(path)")
            }
            let (look, right) = (Look(found, in: remote), Look(number, in: model))
            guard look.agrees(with: right) else {
                throw ProgramFailure("the remote's \(path) is \(look), not \(right)")
            }
            let (node, expected) = (remote[found], model[number])
            guard node.bytes == expected.bytes else {
                throw ProgramFailure(
                    "the remote's \(path) \(difference(node.bytes, expected.bytes))")
            }
            guard node.target == expected.target else {
                throw ProgramFailure("the remote's \(path) points to another place")
            }
            guard node.extendedAttributes == expected.extendedAttributes else {
                throw ProgramFailure("the remote's \(path) has other extended attributes")
            }
        }
        for (names, _) in remote.tree()
        where (try? model.find(names)) == nil || isExcluded(Path(names)) {
            throw ProgramFailure("\(Path(names)) on the remote is unexpected")
        }
    }

    /// Checks that every version ever on the remote was the content of a file at one moment (I3).
    private func checkMoments() throws(ProgramFailure) {
        for key in mount.provider.everyKey.sorted(by: {
            $0.names.lexicographicallyPrecedes($1.names)
        }) {
            for version in mount.provider.versions(of: key)
            where !moments.contains(ContentMark(version.bytes)) {
                throw ProgramFailure(
                    "the remote had \(version.bytes.count) bytes as \(version.etag) of \"\(key)\" "
                        + "that no file ever had")
            }
        }
    }
}
