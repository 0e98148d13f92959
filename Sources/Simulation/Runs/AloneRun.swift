import Engine

/// Runs a program against an engine that is the only client of its remote, and against the
/// reference model: every answer must match the model, and in the end so must the mounted tree and
/// the remote.
package struct AloneRun {
    private struct Handle {
        let inode: InodeNumber
        let node: ReferenceModel.Number
        let isWriting: Bool
    }

    /// The outcome of a run.
    package struct Outcome: Sendable {
        package let trace: ExecutionTrace
        /// The number of operations of disk, database and remote that the last process had begun
        /// after the steps: the number of points at which it may die.
        package let operationCount: Int
    }

    private let mount: SimulatedMount
    private let program: RandomProgram
    private var model = ReferenceModel()
    private var handles: [Int: Handle] = [:]
    /// Every content of any file at any moment (I3).
    private var moments: Set<ContentMark> = [ContentMark([])]
    private var faultPlan = FaultPlan()
    private var operationCount = 0

    /// Runs `program` and its final checks.
    ///
    /// - Parameter logLines: The number of log lines in a failure.
    ///
    /// - Throws: ``ProgramFailure``, or any error of the simulation itself.
    package static func perform(
        _ program: RandomProgram, settings: SimulatedMountSettings? = nil, logLines: Int = 0
    ) throws -> Outcome {
        let mount = try SimulatedMount(
            seed: program.seed, settings: settings ?? .drawn(from: program.seed),
            logLines: logLines)
        let operationCount = try mount.explaining {
            var run = AloneRun(mount, program)
            try await run.perform()
            return run.operationCount
        }
        return Outcome(trace: mount.executor.trace, operationCount: operationCount)
    }

    private init(_ mount: SimulatedMount, _ program: RandomProgram) {
        self.mount = mount
        self.program = program
    }

    private mutating func perform() async throws {
        for step in program.initialTree { try create(step) }
        try mount.start()
        for (index, step) in program.steps.enumerated() {
            mount.log.note("--- \(index): \(step)")
            do {
                try await take(step)
                if mount.life.isDead { try await restart([model]) }
            } catch var failure as ProgramFailure {
                failure.step = index
                throw failure
            }
        }
        try await finish()
    }

    // MARK: Steps

    private mutating func create(_ step: OtherClientStep) throws {
        switch step {
        case .write(let path, let count, let seed):
            let bytes = ProgramBytes.make(count, seed: seed)
            guard let (name, parent) = try? place(path, in: model),
                let node = try? model.create(
                    .init(kind: .file, mode: 0o644, bytes: bytes), name, in: parent)
            else { return }
            moments.insert(ContentMark(model[node].bytes))
            try mount.provider.otherClientWrites(path.key, bytes)
        case .makeDirectory(let path):
            guard let (name, parent) = try? place(path, in: model),
                (try? model.create(
                    .init(kind: .directory, mode: 0o755), name, in: parent)) != nil
            else { return }
            try mount.provider.otherClientMakesDirectory(path.key)
        case .delete, .deleteTree, .replaceByDirectory, .rename, .setAttribute: break
        }
    }

    private mutating func take(_ step: ProgramStep) async throws {
        switch step {
        case .create(let slot, let path, let mode): try await create(slot, path, mode)
        case .open(let slot, let path, let isWriting, let isTruncating):
            try await open(slot, path, isWriting: isWriting, isTruncating: isTruncating)
        case .close(let slot): close(slot)
        case .write(let slot, let offset, let count, let seed):
            try await write(slot, offset, ProgramBytes.make(count, seed: seed))
        case .read(let slot, let offset, let count): try await read(slot, offset, count)
        case .synchronize(let slot): try await synchronize(slot)
        case .synchronizeDirectory(let path): try await synchronizeDirectory(path)
        case .resize, .setMode, .setModified, .setAttribute, .makeDirectory, .makeSymlink,
            .removeDirectory,
            .unlink, .rename:
            try await change(step)
        case .look(let path): try await look(path)
        case .list(let path): try await list(path)
        case .evict(let path): try await evict(path)
        case .wait(let duration):
            try await mount.clock.sleep(until: mount.clock.uptime + duration)
        case .waitForRest: try await waitForRest()
        case .kill(let recoveryDeath): try await restart([model], recoveryDeath: recoveryDeath)
        case .killSoon(let steps): mount.life.dieBeforeStep(steps)
        case .remount: try await remount()
        case .setFaults, .setFault, .setReachable, .setAuthorized:
            faultPlan.change(step)
            // Without another client, nothing would excuse a stale listing.
            faultPlan.faults.staleListing = 0
            faultPlan.apply(to: mount.provider)
        case .jumpWall(let duration): mount.clock.jumpWall(by: duration)
        case .otherClient, .cutPower, .failDisk: break
        }
    }

    private mutating func create(_ slot: Int, _ path: Path, _ mode: UInt16) async throws {
        close(slot)
        let created = try await compare { engine in
            let (name, parent) = try await place(path, engine)
            let attributes = try await engine.retrying { () throws(Blocked) in
                try engine.createFile(name, in: parent, mode: mode, caller: .test)
            }
            return attributes.inode
        } with: { model in
            let (name, parent) = try place(path, in: model)
            return try model.create(.init(kind: .file, mode: mode), name, in: parent)
        }
        guard let (inode, node) = created else { return }
        handles[slot] = Handle(inode: inode, node: node, isWriting: true)
    }

    private mutating func open(
        _ slot: Int, _ path: Path, isWriting: Bool, isTruncating: Bool
    ) async throws {
        close(slot)
        let opened = try await compare { engine in
            let inode = try await find(path, engine)
            try await engine.retrying { () throws(Blocked) in
                // The kernel does not open symbolic links.
                if try engine.attributes(of: inode).kind == .symlink {
                    throw .failure(EngineError(.invalid, "open a symbolic link"))
                }
                try engine.open(
                    inode, access: isWriting ? .write : .read, truncating: isTruncating)
            }
            return inode
        } with: { model in
            let node = try model.find(path.names)
            _ = try model.file(node)
            if isTruncating { try model.resize(node, to: 0) }
            return node
        }
        guard let (inode, node) = opened else { return }
        handles[slot] = Handle(inode: inode, node: node, isWriting: isWriting)
    }

    private mutating func close(_ slot: Int) {
        guard let handle = handles.removeValue(forKey: slot) else { return }
        mount.engine.release(handle.inode, access: handle.isWriting ? .write : .read)
    }

    private mutating func write(_ slot: Int, _ offset: Int, _ bytes: [UInt8]) async throws {
        guard let handle = handles[slot], handle.isWriting else { return }
        let written = try await compare { engine in
            try await engine.retrying { () throws(Blocked) in
                try bytes.withHalt { (buffer) throws(Blocked) in
                    try engine.write(handle.inode, buffer, at: UInt64(offset))
                }
            }
        } with: { model in
            model.write(bytes, at: offset, of: handle.node)
        }
        if written != nil { moments.insert(ContentMark(model[handle.node].bytes)) }
    }

    private mutating func read(_ slot: Int, _ offset: Int, _ count: Int) async throws {
        guard let handle = handles[slot] else { return }
        let read = try await compare { engine in
            try await engine.bytes(of: handle.inode, at: offset, count: count)
        } with: { model in
            model[handle.node].bytes.dropFirst(offset).prefix(count)
        }
        guard let (bytes, expected) = read else { return }
        guard bytes.elementsEqual(expected) else {
            throw ProgramFailure(
                "\(bytes.count) bytes were read, not the \(expected.count) that were written")
        }
    }

    private mutating func synchronize(_ slot: Int) async throws {
        guard let handle = handles[slot] else { return }
        _ = try await compare { engine in
            try await engine.retrying { () throws(Blocked) in
                try engine.synchronize(handle.inode)
            }
        } with: { _ in
        }
    }

    private mutating func synchronizeDirectory(_ path: Path) async throws {
        _ = try await compare { engine in
            try await path.synchronizeDirectory(engine)
        } with: { model in
            try model.directory(try model.find(path.names))
        }
    }

    private mutating func change(_ step: ProgramStep) async throws {
        let done = try await compare { engine in
            try await step.change(engine)
        } with: { model in
            try step.change(&model)
        }
        if case .resize(let path, _) = step, done != nil, let node = try? model.find(path.names) {
            moments.insert(ContentMark(model[node].bytes))
        }
    }

    private mutating func look(_ path: Path) async throws {
        let looks = try await compare { engine in
            let inode = try await find(path, engine)
            let attributes = try await engine.retrying { () throws(Blocked) in
                try engine.attributes(of: inode)
            }
            return Look(attributes)
        } with: { model in
            Look(try model.find(path.names), in: model)
        }
        guard let (look, expected) = looks, !look.agrees(with: expected) else { return }
        throw ProgramFailure("\(path) looks like \(look), not \(expected)")
    }

    private mutating func list(_ path: Path) async throws {
        let lists = try await compare { engine in
            try await engine.names(in: try await find(path, engine))
        } with: { model in
            try model.directory(try model.find(path.names)).children.keys.sorted()
        }
        guard let (names, expected) = lists, names.sorted() != expected else { return }
        throw ProgramFailure("\(path) has the names \(names), not \(expected)")
    }

    private mutating func evict(_ path: Path) async throws {
        _ = try await compare { engine in
            try engine.evict(try await find(path, engine)).files
        } with: { model in
            try model.find(path.names)
        }
    }

    private func waitForRest() async throws {
        do {
            try mount.engine.hasten(below: .root)
            _ = try await mount.waitForRest(within: .seconds(30))
        } catch {
            if !mount.life.isDead { throw error }
        }
    }

    // MARK: Engine and model side by side

    /// Performs an operation on the engine and on the model. If the engine died before
    /// acknowledging it, the operation may or may not have happened; the tree shows which.
    ///
    /// - Returns: Both answers, or `nil` if both refused or nothing happened.
    private mutating func compare<Answer, Expected>(
        _ ask: (Engine) async throws -> Answer,
        with state: (inout ReferenceModel) throws -> Expected
    ) async throws -> (Answer, Expected)? {
        let answer: Result<Answer, EngineError>
        do {
            answer = .success(try await ask(mount.engine))
        } catch let error as EngineError {
            answer = .failure(error)
        }
        var after = model
        let expected: Result<Expected, ReferenceModel.Refusal>
        do {
            expected = .success(try state(&after))
        } catch let refusal as ReferenceModel.Refusal {
            expected = .failure(refusal)
        }
        if mount.life.isDead {
            // An interrupted write may have set only the time.
            let begun = model.withTimes(ofWhatChangedIn: after)
            try await restart(after == model ? [model] : [model, begun, after])
            return nil
        }
        return try judge(answer, expected, after)
    }

    private mutating func judge<Answer, Expected>(
        _ answer: Result<Answer, EngineError>,
        _ expected: Result<Expected, ReferenceModel.Refusal>, _ after: ReferenceModel
    ) throws -> (Answer, Expected)? {
        switch (answer, expected) {
        case (.success(let answer), .success(let expected)):
            model = after
            return (answer, expected)
        case (.failure(let error), .failure(let refusal)) where refusal.kinds.contains(error.kind):
            return nil
        case (.failure(let error), _) where faultPlan.excuses(error):
            return nil
        case (.failure(let error), _): throw ProgramFailure("refused: \(error)")
        case (.success, .failure(let refusal)):
            throw ProgramFailure("granted, not refused as \(refusal.kinds)")
        }
    }

    // MARK: Death

    /// Mounts again after an orderly end: pending changes are still pending, and the tree is
    /// unchanged.
    private mutating func remount() async throws {
        for slot in handles.keys.sorted() { close(slot) }
        await mount.stop()
        try await restart([model])
    }

    /// Restarts the process, and determines which candidate its tree matches.
    private mutating func restart(
        _ candidates: [ReferenceModel], recoveryDeath: Int? = nil
    ) async throws {
        await mount.kill()
        try mount.check()
        handles = [:]
        try await mount.startAgain(dyingBeforeStep: recoveryDeath)
        FaultPlan().apply(to: mount.provider)
        try await choose(among: candidates)
        faultPlan.apply(to: mount.provider)
    }

    private mutating func choose(among candidates: [ReferenceModel]) async throws {
        var complaints: [String] = []
        for candidate in candidates.reversed() {
            do throws(ProgramFailure) {
                model = try await Self.world(like: candidate, among: candidates, mount.engine)
            } catch {
                complaints.append("\(error)")
                continue
            }
            for (_, node) in model.tree() where model[node].kind == .file {
                moments.insert(ContentMark(model[node].bytes))
            }
            return
        }
        throw ProgramFailure("after the kill: " + complaints.joined(separator: "; nor: "))
    }

    /// Returns the mounted state if it matches a candidate, except for unacknowledged writes, any
    /// part of which may be present.
    private static func world(
        like candidate: ReferenceModel, among candidates: [ReferenceModel], _ engine: Engine
    ) async throws(ProgramFailure) -> ReferenceModel {
        let check = TreeCheck(engine: engine, model: candidate)
        try await check.checkNames()
        var world = candidate
        for (names, node) in candidate.tree() where candidate[node].kind == .file {
            let versions = candidates.filter { $0.has(node) }.map { $0[node].bytes }
            guard Set(versions).count > 1 else { continue }
            let bytes = try await check.bytes(of: Path(names))
            guard bytes.count == candidate[node].bytes.count,
                Mixture.isMixture(bytes, of: versions)
            else {
                throw ProgramFailure(
                    "\(Path(names)) " + Difference(bytes, candidate[node].bytes).description)
            }
            world.replaceBytes(of: node, by: bytes)
        }
        return world
    }

    // MARK: The end

    private mutating func finish() async throws {
        for slot in handles.keys.sorted() { close(slot) }
        if mount.life.isDead { try await restart([model]) }
        mount.life.dieNoMore()
        operationCount = mount.life.stepCount
        mount.log.note("--- the end")
        guard try await mount.settle() else {
            let items = try mount.engine.status(below: .root, limit: 5).items
            throw ProgramFailure("changes stay pending: \(items)")
        }
        let check = TreeCheck(engine: mount.engine, model: model)
        try await check.checkNames()
        try await check.checkBytes()
        try RemoteCheck(mount: mount).check(model)
        try checkMoments()
        await mount.kill()
        try mount.check()
    }

    /// Checks that every version ever on the remote was the content of a file at one moment (I3).
    private func checkMoments() throws(ProgramFailure) {
        for key in mount.provider.everyKey().sorted(by: {
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
