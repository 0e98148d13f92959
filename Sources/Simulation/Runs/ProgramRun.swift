import Engine

/// Runs a program on a simulated mount. A ``Judge`` checks every answer, every restart and the end.
struct ProgramRun {
    struct Handle {
        let inode: InodeNumber
        let access: FileAccess
    }

    let mount: SimulatedMount
    private let program: RandomProgram
    /// Whether a name may lead to another file by the time it is removed or replaced.
    var isShared: Bool { !program.scenario.isAlone }
    private var judge: any Judge
    var handles: [Int: Handle] = [:]
    /// The file that the step uses, and its agreed version before the step.
    var touched: (inode: InodeNumber, version: ETag?)?
    /// Whether an eviction has freed bytes of pinned files.
    var hasEvictedPinned = false
    private var faultPlan = FaultPlan()
    /// Whether the next death is a power cut.
    private var isPowerCut = false

    init(_ program: RandomProgram, on mount: SimulatedMount) {
        self.mount = mount
        self.program = program
        judge = program.scenario.isAlone ? ModelJudge(mount) : LossJudge(mount)
        faultPlan.repeatsRequests = program.seed / 16 % 3 == 1
    }

    /// - Returns: See ``RandomProgram/run(logLines:)``.
    mutating func perform() async throws -> Int {
        for step in program.initialTree where judge.accepts(step) {
            step.apply(to: mount.provider)
        }
        try mount.start()
        let history = program.seed % 3 == 0 ? HistoryCheck(mount.engine) : nil
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
        for slot in handles.keys.sorted() { close(slot) }
        if mount.life.isDead { try await restart() }
        mount.life.dieNoMore()
        mount.setDiskFaults(DiskFaultPlan())
        let operationCount = mount.life.stepCount
        mount.log.note("--- the end")
        try await judge.finish(faultPlan)
        try history?.check(mount.engine)
        await mount.kill()
        try mount.check()
        return operationCount
    }

    private mutating func take(_ step: ProgramStep) async throws {
        switch step {
        case .close(let slot): close(slot)
        case .wait(let duration):
            try await checkingKernelCaches {
                try await mount.clock.sleep(until: mount.clock.uptime + duration)
            }
        case .waitForRest: try await checkingKernelCaches { try await waitForRest() }
        case .kill(let recoveryDeath): try await restart(recoveryDeath: recoveryDeath)
        case .killSoon(let steps): mount.life.dieBeforeStep(steps)
        case .remount(let cutsPower): try await remount(cutsPower: cutsPower)
        case .setFaults, .setFault, .setReachable, .setAuthorized:
            faultPlan.change(step, at: mount.clock.uptime)
            // Without another client, nothing would excuse a stale listing.
            if program.scenario.isAlone { faultPlan.faults[.staleListing] = 0 }
            faultPlan.apply(to: mount.provider)
        case .jumpWall(let duration): mount.clock.jumpWall(by: duration)
        case .cutPower(let steps):
            isPowerCut = true
            if let steps { mount.life.dieBeforeStep(steps) } else { try await restart() }
        case .failDisk(let isFull, let first, let count):
            faultPlan.hadDiskFaults = true
            mount.setDiskFaults(DiskFaultPlan(isFull ? .full : .fails, after: first, count: count))
        case .failSync(let first, let count):
            faultPlan.hadSyncFaults = true
            mount.disk.setFaults(DiskFaultPlan(.failsToSynchronize, after: first, count: count))
        case .otherClient(let step): step.apply(to: mount.provider)
        default: try await ask(step)
        }
    }

    private mutating func ask(_ step: ProgramStep) async throws {
        judge.prepare(for: step)
        touched = nil
        let start = mount.clock.uptime
        let answer: Result<ProgramAnswer, EngineError>
        do throws(EngineError) {
            guard let given = try await perform(step) else { return }
            answer = .success(given)
        } catch {
            answer = .failure(error)
        }
        if hasEvictedPinned { throw ProgramFailure("\(step) has evicted what is pinned") }
        try judge.judge(step, answer, touched, since: start, faultPlan)
    }

    mutating func close(_ slot: Int) {
        guard let handle = handles.removeValue(forKey: slot) else { return }
        mount.engine.release(handle.inode, access: handle.access)
    }

    /// Runs `body`, during which no program makes a request.
    private func checkingKernelCaches(_ body: () async throws -> Void) async throws {
        guard !mount.life.isDead, !faultPlan.hadDiskFaults else { return try await body() }
        let database = mount.openDatabase
        let check = try KernelCacheCheck(database)
        _ = mount.kernelCache.take()
        try await body()
        // A new process has a new mount.
        if mount.life.isDead { return }
        try check.check(database, mount.kernelCache.take())
    }

    private func waitForRest() async throws {
        do {
            try mount.engine.hasten(below: [.root])
            _ = try await mount.waitForRest(within: .seconds(30))
        } catch {
            if !mount.life.isDead, !faultPlan.hadDiskFaults { throw error }
        }
    }

    /// Mounts again after an orderly end, which loses nothing, even in a later power cut (I6).
    private mutating func remount(cutsPower: Bool) async throws {
        for slot in handles.keys.sorted() { close(slot) }
        judge.prepareForStop()
        let isOrderly = await mount.stop() != nil
        if isOrderly, !faultPlan.hadDiskFaults { judge.noteOrderlyEnd() }
        isPowerCut = isPowerCut || cutsPower
        try await restart()
    }

    private mutating func restart(recoveryDeath: Int? = nil) async throws {
        let wasPowerCut = isPowerCut
        isPowerCut = false
        if wasPowerCut {
            judge.prepareForPowerCut()
            await mount.cutPower()
        } else {
            await mount.kill()
        }
        mount.setDiskFaults(DiskFaultPlan())
        try mount.check()
        handles = [:]
        try await mount.startAgain(dyingBeforeStep: recoveryDeath)
        FaultPlan().apply(to: mount.provider)
        try await judge.checkRestart(wasPowerCut: wasPowerCut, faultPlan)
        faultPlan.apply(to: mount.provider)
    }
}
