import Engine

/// Runs a program against an engine that shares the remote with another client.
///
/// Answers depend on which client was first, so only their plausibility is checked. In the end,
/// without faults, both sides must be equal (I7), and nothing may be lost: see ``LossOracle``.
struct SharedRun {
    struct Handle {
        let inode: InodeNumber
        let isWriting: Bool
    }

    let mount: SimulatedMount
    private let program: RandomProgram
    var oracle = LossOracle()
    var handles: [Int: Handle] = [:]
    var faultPlan = FaultPlan()
    /// Whether the next death is a power cut.
    var isPowerCut = false
    var hadDiskFaults = false
    var hadPowerCuts = false
    /// Names that must survive a power cut, by inode.
    var durableNames: [InodeNumber: (parent: InodeNumber, name: FileName)] = [:]

    /// See ``RandomProgram/run(logLines:)``.
    static func perform(_ program: RandomProgram, logLines: Int) throws -> ExecutionTrace {
        var settings = SimulatedMountSettings.drawn(from: program.seed)
        settings.keepsDatabaseOnDisk = program.scenario != .shared
        let mount = try SimulatedMount(
            seed: program.seed, settings: settings, logLines: logLines)
        try mount.explaining {
            var run = SharedRun(mount: mount, program: program)
            try await run.perform()
        }
        return mount.executor.trace
    }

    private init(mount: SimulatedMount, program: RandomProgram) {
        self.mount = mount
        self.program = program
    }

    private mutating func perform() async throws {
        for step in program.initialTree { step.apply(to: mount.provider) }
        try mount.start()
        for (index, step) in program.steps.enumerated() {
            mount.log.note("--- \(index): \(step)")
            do {
                try await take(step)
                if mount.life.isDead { try await restart() }
            } catch var failure as ProgramFailure {
                failure.step = index
                throw failure
            }
        }
        try await finish()
    }

    // MARK: Steps

    private mutating func take(_ step: ProgramStep) async throws {
        switch step {
        case .create(let slot, let path, let mode): try await create(slot, path, mode)
        case .open(let slot, let path, let isWriting, let isTruncating):
            try await open(slot, path, isWriting: isWriting, isTruncating: isTruncating)
        case .close(let slot): close(slot)
        case .write(let slot, let offset, let count, let seed):
            try await write(slot, offset, ProgramBytes.make(count, seed: seed))
        case .read(let slot, let offset, let count): try await read(slot, offset, count)
        case .synchronize(let slot):
            guard let inode = handles[slot]?.inode else { return }
            let done: Void? = try await ask { engine in
                try await engine.retrying { () throws(Blocked) in try engine.synchronize(inode) }
            }
            if done != nil { oracle.synchronize(inode) }
        case .synchronizeDirectory(let path): try await synchronizeDirectory(path)
        case .resize(let path, let size): try await resize(path, size)
        case .unlink(let path):
            forgetDurableNames(at: [path])
            try await unlink(path)
        case .rename(let from, let to, let replaces):
            forgetDurableNames(at: [from, to])
            try await rename(from, to, replaces: replaces)
        case .removeDirectory(let path):
            forgetDurableNames(at: [path])
            _ = try await ask { engine in try await step.change(engine) }
        case .setMode, .setModified, .setAttribute, .makeDirectory, .makeSymlink:
            _ = try await ask { engine in try await step.change(engine) }
        case .look(let path): _ = try await ask { engine in try await find(path, engine) }
        case .list(let path):
            _ = try await ask { engine in
                try await engine.names(in: try await find(path, engine))
            }
        case .evict(let path):
            _ = try await ask { engine in try engine.evict(try await find(path, engine)).files }
        case .wait(let duration):
            try await mount.clock.sleep(until: mount.clock.uptime + duration)
        case .waitForRest: try await waitForRest()
        case .kill(let recoveryDeath): try await restart(recoveryDeath: recoveryDeath)
        case .killSoon(let steps): mount.life.dieBeforeStep(steps)
        case .remount(let cutsPower): try await remount(cutsPower: cutsPower)
        case .setFaults, .setFault, .setReachable, .setAuthorized:
            faultPlan.change(step)
            faultPlan.apply(to: mount.provider)
        case .jumpWall(let duration): mount.clock.jumpWall(by: duration)
        case .cutPower(let steps):
            isPowerCut = true
            if let steps { mount.life.dieBeforeStep(steps) } else { try await restart() }
        case .failDisk(let isFull, let first, let count):
            hadDiskFaults = true
            mount.setDiskFaults(DiskFaultPlan(isFull ? .full : .fails, after: first, count: count))
        case .otherClient(let step): step.apply(to: mount.provider)
        }
    }

    private mutating func create(_ slot: Int, _ path: Path, _ mode: UInt16) async throws {
        close(slot)
        let created = try await ask { engine in
            let (name, parent) = try await place(path, engine)
            return try await engine.retrying { () throws(Blocked) in
                try engine.createFile(name, in: parent, mode: mode, caller: .test).inode
            }
        }
        guard let inode = created else { return }
        handles[slot] = Handle(inode: inode, isWriting: true)
        oracle.meet(inode, [])
        oracle.change(inode, version: nil, isCertain: true) { _ in }
    }

    private mutating func open(
        _ slot: Int, _ path: Path, isWriting: Bool, isTruncating: Bool
    ) async throws {
        close(slot)
        var met: (inode: InodeNumber, version: ETag?)?
        let opened = try await ask { engine in
            let (name, parent) = try await place(path, engine)
            return try await engine.retrying { () throws(Blocked) in
                let attributes = try engine.lookup(name, in: parent)
                guard attributes.kind == .file else {
                    throw .failure(EngineError(.invalid, "open: not a file"))
                }
                met = (attributes.inode, try engine.agreedVersion(of: attributes.inode))
                try engine.open(
                    attributes.inode, access: isWriting ? .write : .read,
                    truncating: isTruncating)
                return attributes.inode
            }
        }
        guard let met else { return }
        meet(met.inode, met.version)
        if isTruncating {
            oracle.change(met.inode, version: met.version, isCertain: opened != nil) { $0 = [] }
        }
        if let inode = opened { handles[slot] = Handle(inode: inode, isWriting: isWriting) }
    }

    /// Records the content of an inode from its synced version, before a program changes it.
    private mutating func meet(_ inode: InodeNumber, _ version: ETag?) {
        guard oracle.files[inode] == nil else { return }
        let bytes = version.flatMap { version in
            mount.provider.everyContent().first { $0.etags.contains(version) }?.bytes
        }
        oracle.meet(inode, bytes ?? [])
    }

    mutating func close(_ slot: Int) {
        guard let handle = handles.removeValue(forKey: slot) else { return }
        mount.engine.release(handle.inode, access: handle.isWriting ? .write : .read)
    }

    private mutating func write(_ slot: Int, _ offset: Int, _ bytes: [UInt8]) async throws {
        guard let handle = handles[slot], handle.isWriting else { return }
        var version: ETag?
        let written: Void? = try await ask { engine in
            try await engine.retrying { () throws(Blocked) in
                version = try engine.agreedVersion(of: handle.inode)
                try bytes.withHalt { (buffer) throws(Blocked) in
                    try engine.write(handle.inode, buffer, at: UInt64(offset))
                }
            }
        }
        oracle.change(handle.inode, version: version, isCertain: written != nil) { content in
            let end = offset + bytes.count
            if content.count < end {
                content += [UInt8](repeating: 0, count: end - content.count)
            }
            content.replaceSubrange(offset..<end, with: bytes)
        }
    }

    private mutating func read(_ slot: Int, _ offset: Int, _ count: Int) async throws {
        guard let handle = handles[slot] else { return }
        let read = try await ask { engine in
            try await engine.bytes(of: handle.inode, at: offset, count: count)
        }
        guard let bytes = read else { return }
        guard
            oracle.read(
                handle.inode, bytes, at: offset, count: count, decides: !hadDiskFaults)
        else {
            throw ProgramFailure("I5: bytes were read that inode \(handle.inode) never had")
        }
    }

    private mutating func resize(_ path: Path, _ size: Int) async throws {
        var met: (inode: InodeNumber, version: ETag?)?
        let done: Void? = try await ask { engine in
            let (name, parent) = try await place(path, engine)
            try await engine.retrying { () throws(Blocked) in
                let attributes = try engine.lookup(name, in: parent)
                guard attributes.kind == .file else {
                    throw .failure(EngineError(.invalid, "resize: not a file"))
                }
                met = (attributes.inode, try engine.agreedVersion(of: attributes.inode))
                var change = AttributeChange()
                change.size = UInt64(size)
                change.modified = .now
                _ = try engine.setAttributes(of: attributes.inode, to: change)
            }
        }
        guard let met else { return }
        meet(met.inode, met.version)
        oracle.change(met.inode, version: met.version, isCertain: done != nil) { content in
            if content.count > size {
                content.removeLast(content.count - size)
            } else {
                content += [UInt8](repeating: 0, count: size - content.count)
            }
        }
    }

    private mutating func unlink(_ path: Path) async throws {
        var met: (inode: InodeNumber, version: ETag?)?
        _ = try await ask { engine in
            let (name, parent) = try await place(path, engine)
            try await engine.retrying { () throws(Blocked) in
                met = nil
                let inode = try engine.lookup(name, in: parent).inode
                let version = try engine.agreedVersion(of: inode)
                met = (inode, version)
                try engine.unlink(name, in: parent)
            }
        }
        if let met { oracle.remove(met.inode, version: met.version) }
    }

    private mutating func rename(_ from: Path, _ to: Path, replaces: Bool) async throws {
        var met: (inode: InodeNumber, version: ETag?)?
        let done: Void? = try await ask { engine in
            let (name, parent) = try await place(from, engine)
            let (newName, newParent) = try await place(to, engine)
            try await engine.retrying { () throws(Blocked) in
                met = nil
                let moved = try engine.lookup(name, in: parent).inode
                let target = try engine.existing(newName, in: newParent)
                if let target, target != moved {
                    met = (target, try engine.agreedVersion(of: target))
                }
                try engine.rename(
                    name, in: parent, to: newName, in: newParent,
                    mode: replaces ? .replace : .noReplace)
            }
        }
        if let met, done != nil || mount.life.isDead {
            oracle.remove(met.inode, version: met.version)
        }
    }

    private func waitForRest() async throws {
        do {
            try mount.engine.hasten(below: .root)
            _ = try await mount.waitForRest(within: .seconds(30))
        } catch {
            if !mount.life.isDead, !hadDiskFaults { throw error }
        }
    }

    // MARK: Asking

    /// - Returns: `nil` if the engine died or refused for a valid reason.
    func ask<Answer>(
        _ question: (Engine) async throws -> Answer
    ) async throws -> Answer? {
        do {
            return try await question(mount.engine)
        } catch let error as EngineError {
            if mount.life.isDead || faultPlan.excuses(error) { return nil }
            switch error.kind {
            case .notFound, .exists, .isDirectory, .notDirectory, .notEmpty, .invalid,
                .noAttribute, .changedRemotely:
                return nil
            case .failed, .outOfSpace, .damaged, .unreachable:
                if hadDiskFaults { return nil }
                throw ProgramFailure("refused: \(error)")
            default: throw ProgramFailure("refused: \(error)")
            }
        }
    }

    // MARK: The end

    private mutating func finish() async throws {
        for slot in handles.keys.sorted() { close(slot) }
        if mount.life.isDead { try await restart() }
        mount.life.dieNoMore()
        mount.setDiskFaults(DiskFaultPlan())
        mount.log.note("--- the end")
        let incomplete = try await ConvergenceCheck(
            mount: mount, mayShowAside: faultPlan.hadStaleListings
        ).waitForAgreement()
        try oracle.check(
            incomplete: incomplete, mount.provider.snapshot(), mount.provider.everyContent())
    }
}

extension Engine {
    /// Returns the inode of a name, if it exists.
    fileprivate func existing(
        _ name: FileName, in parent: InodeNumber
    ) throws(Blocked) -> InodeNumber? {
        do throws(Blocked) {
            return try lookup(name, in: parent).inode
        } catch {
            if case .failure(let failure) = error, failure.kind == .notFound { return nil }
            throw error
        }
    }
}
