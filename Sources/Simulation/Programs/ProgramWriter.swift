import Engine

/// Draws the steps of a ``RandomProgram``.
///
/// It tracks roughly the tree that its steps make, so that most of them have a target. Faults and
/// deaths may let the run diverge from it.
struct ProgramWriter {
    private static let slots = 4
    /// Few names, so that they collide.
    private static let names = ["a", "b", "c", "d", "B"].compactMap { FileName($0) }
    /// Names that a folding remote takes for three.
    private static let foldedNames = ["a", "A", "b", "B", "\u{E9}", "e\u{301}", "E\u{301}"]
        .compactMap { FileName($0) }

    private var random: SeededGenerator
    private let style: RandomProgram.Style
    private var model = ReferenceModel()
    private var bytesSeed: UInt64

    init(seed: UInt64, style: RandomProgram.Style) {
        random = SeededGenerator(seed: seed ^ 0x50524f47)
        self.style = style
        bytesSeed = seed << 20
    }

    // MARK: The program

    mutating func makeInitialTree() -> [OtherClientStep] {
        var steps: [OtherClientStep] = []
        for _ in 0..<random.next(below: 10) {
            let path = freshPath()
            if random.next(below: 3) == 0 {
                steps.append(.makeDirectory(path: path))
                make(.directory, at: path)
            } else {
                steps.append(.write(path: path, count: size(), seed: freshSeed()))
                make(.file, at: path)
            }
        }
        return steps
    }

    mutating func makeSteps() -> [ProgramStep] {
        var steps: [ProgramStep] = []
        while steps.count < style.stepCount { steps += draw() }
        return Array(steps.prefix(style.stepCount))
    }

    private mutating func draw() -> [ProgramStep] {
        switch random.next(below: 100) {
        case 0..<9: [create()]
        case 9..<16: [open(isWriting: random.next(below: 3) > 0)]
        case 16..<29: [write()]
        case 29..<32: [setAttribute()]
        case 32..<37: [read()]
        case 37..<43: [.close(slot: slot())]
        case 43..<46: [.resize(path: path(.file), size: size())]
        case 46..<48: [.setMode(path: path(nil), mode: mode())]
        case 48..<50: [setModified(path(random.next(below: 5) == 0 ? nil : .file))]
        case 50..<54: [makeDirectory()]
        case 54..<56: [makeSymlink()]
        case 56..<59: [removeDirectory()]
        case 59..<64: [unlink()]
        case 64..<71: [rename()]
        case 71..<73: swap()
        case 73..<75: saveAtomically()
        case 75..<78: [.look(path: path(nil))]
        case 78..<80: [.list(path: random.nextBool() ? Path([]) : path(.directory))]
        case 80..<82: [evictOrPin()]
        case 82..<(style.scenario == .powerCut ? 86 : 83): [synchronize()]
        case 83..<92: [.wait(pause())]
        case 92..<94: [.waitForRest]
        default: [disturbance()]
        }
    }

    private mutating func evictOrPin() -> ProgramStep {
        switch random.next(below: 6) {
        case 0: .evict(path: Path([]))
        case 1, 2: .evict(path: path(.file))
        default: .pin(path: path(nil), isPinned: random.next(below: 3) > 0)
        }
    }

    private mutating func disturbance() -> ProgramStep {
        switch style.scenario {
        case .shared where random.nextBool(), .folding where random.nextBool():
            return .otherClient(otherClientStep())
        case .powerCut where random.next(below: 3) == 0:
            return .cutPower(steps: random.nextBool() ? nil : 1 + random.next(below: 60))
        case .powerCut where random.next(below: 8) == 0:
            return .failSync(after: random.next(below: 3), count: 1 + random.next(below: 3))
        case .badDisk where random.nextBool():
            return .failDisk(
                isFull: random.nextBool(), after: random.next(below: 60),
                count: 1 + random.next(below: random.nextBool() ? 3 : 40))
        default: break
        }
        switch random.next(below: 10) {
        case 0, 1:
            guard style.hasDeaths else { return .wait(pause()) }
            let steps = random.next(below: 4) == 0 ? 1 + random.next(below: 12) : nil
            return .kill(recoveryDeath: steps)
        case 2, 3:
            return style.hasDeaths ? .killSoon(steps: 1 + random.next(below: 40)) : .wait(pause())
        case 4...7: return style.hasFaults ? fault() : .wait(pause())
        case 8:
            guard style.hasDeaths else { return .wait(pause()) }
            return .remount(cutsPower: style.scenario == .powerCut && random.nextBool())
        default: return .jumpWall(.seconds(random.next(below: 200_000) - 100_000))
        }
    }

    private mutating func fault() -> ProgramStep {
        let rates = [0, 20, 100, 300]
        switch random.next(below: 8) {
        case 0, 1, 2: return .setFaults(perMille: rates[random.next(below: rates.count)])
        case 3:
            let kinds = SimulatedProviderFaults.Kind.ofSteps
            return .setFault(kinds[random.next(below: kinds.count)], perMille: 700)
        case 4: return .setAuthorized(random.next(below: 3) > 0)
        // Reachable more often than not.
        default: return .setReachable(random.next(below: 3) > 0)
        }
    }

    private mutating func otherClientStep() -> OtherClientStep {
        switch random.next(below: 15) {
        case 0...4:
            let (path, count, seed) = (path(.file), size(), freshSeed())
            if seed % 4 == 0 { return .overwrite(path: path, seed: seed) }
            return .write(path: path, count: count, seed: seed)
        case 5, 6: return .write(path: freshPath(), count: size(), seed: freshSeed())
        case 7: return .makeDirectory(path: freshPath())
        case 8, 9: return .delete(path: path(nil))
        case 10: return .deleteTree(path: path(nil))
        case 11: return .replaceByDirectory(path: path(nil))
        case 12:
            return .setAttribute(path: path(nil), name: attribute(), seed: attributeSeed())
        default: return .rename(from: path(nil), to: random.nextBool() ? path(nil) : freshPath())
        }
    }

    // MARK: Steps

    private mutating func setAttribute() -> ProgramStep {
        .setAttribute(path: path(nil), name: attribute(), seed: attributeSeed())
    }

    /// Two names, so that they collide.
    private mutating func attribute() -> String { random.nextBool() ? "user.a" : "user.b" }

    /// Returns `nil` to remove the attribute.
    private mutating func attributeSeed() -> UInt64? {
        random.next(below: 3) == 0 ? nil : freshSeed()
    }

    private mutating func create() -> ProgramStep {
        let path = random.next(below: 8) == 0 ? path(nil) : freshPath()
        make(.file, at: path)
        return .create(slot: slot(), path: path, mode: mode())
    }

    private mutating func open(isWriting: Bool) -> ProgramStep {
        .open(
            slot: slot(), path: path(.file), isWriting: isWriting,
            isTruncating: isWriting && random.next(below: 4) == 0)
    }

    private mutating func write() -> ProgramStep {
        .write(slot: slot(), offset: offset(), count: 1 + size(), seed: freshSeed())
    }

    private mutating func read() -> ProgramStep {
        .read(slot: slot(), offset: offset(), count: 1 + size())
    }

    private mutating func synchronize() -> ProgramStep {
        guard random.next(below: 3) == 0 else { return .synchronize(slot: slot()) }
        let directory = random.nextBool() ? Path([]) : path(.directory)
        return .synchronizeDirectory(path: directory)
    }

    /// Few times, so that they collide.
    private mutating func setModified(_ path: Path) -> ProgramStep {
        .setModified(path: path, seconds: [0, 1_000_000_000, 4_000_000_000][random.next(below: 3)])
    }

    private mutating func makeDirectory() -> ProgramStep {
        let path = freshPath()
        make(.directory, at: path)
        return .makeDirectory(path: path)
    }

    private mutating func makeSymlink() -> ProgramStep {
        let path = freshPath()
        make(.symlink, at: path)
        return .makeSymlink(path: path, target: "to/\(freshSeed())")
    }

    private mutating func removeDirectory() -> ProgramStep {
        let path = path(.directory)
        if let (name, parent) = place(path) { try? model.removeDirectory(name, in: parent) }
        return .removeDirectory(path: path)
    }

    private mutating func unlink() -> ProgramStep {
        let path = path(random.next(below: 4) == 0 ? .symlink : .file)
        if let (name, parent) = place(path) { try? model.unlink(name, in: parent) }
        return .unlink(path: path)
    }

    private mutating func rename() -> ProgramStep {
        let from = path(random.next(below: 3) == 0 ? .directory : nil)
        let to = random.nextBool() ? path(nil) : freshPath()
        return rename(from, to, replaces: random.next(below: 6) > 0)
    }

    private mutating func rename(_ from: Path, _ to: Path, replaces: Bool) -> ProgramStep {
        if let (name, parent) = place(from), let (newName, newParent) = place(to) {
            try? model.rename(name, in: parent, to: newName, in: newParent, replaces: replaces)
        }
        return .rename(from: from, to: to, replaces: replaces)
    }

    /// Exchanges two or three names in a ring.
    private mutating func swap() -> [ProgramStep] {
        let ring = (0..<(2 + random.next(below: 2))).map { _ in path(nil) }
        guard Set(ring).count == ring.count, let aside = FileName("aside") else { return [] }
        let spare = ring[0].parent.appending(aside)
        var steps = [rename(ring[0], spare, replaces: true)]
        for index in 1..<ring.count {
            steps.append(rename(ring[index], ring[index - 1], replaces: true))
        }
        return steps + [rename(spare, ring[ring.count - 1], replaces: true)]
    }

    /// Saves like an editor: the new version is written under another name, then renamed.
    private mutating func saveAtomically() -> [ProgramStep] {
        let path = path(.file)
        // Only here, so that the programs of other scenarios stay what they were.
        guard style.scenario == .powerCut else { return save(path) }
        let isSynchronised = random.nextBool()
        guard isSynchronised, random.nextBool() else {
            return save(path, isSynchronised: isSynchronised)
                + (random.next(below: 4) == 0 ? [powerCutSoon()] : [])
        }
        // Twice, so that the second save replaces a durable file that is not uploaded yet.
        return save(path, isSynchronised: true) + [.synchronizeDirectory(path: path.parent)]
            + save(path, isSynchronised: true)
            + (random.next(below: 4) == 0 ? [.synchronizeDirectory(path: path.parent)] : [])
            + (random.next(below: 4) > 0 ? [powerCutSoon()] : [])
    }

    private mutating func save(_ path: Path, isSynchronised: Bool = false) -> [ProgramStep] {
        guard let name = FileName("draft") else { return [] }
        let draft = path.parent.appending(name)
        make(.file, at: draft)
        var steps: [ProgramStep] = [
            .create(slot: 0, path: draft, mode: 0o644),
            .write(slot: 0, offset: 0, count: 1 + size(), seed: freshSeed()),
        ]
        // Like `rsync -t`: the time of the original, independent of the time of writing.
        if random.nextBool() { steps.append(setModified(draft)) }
        if isSynchronised { steps.append(.synchronize(slot: 0)) }
        return steps + [.close(slot: 0), rename(draft, path, replaces: true)]
    }

    private mutating func powerCutSoon() -> ProgramStep {
        .cutPower(steps: random.nextBool() ? nil : 1 + random.next(below: 20))
    }

    // MARK: Parts

    private mutating func slot() -> Int { random.next(below: Self.slots) }

    private mutating func size() -> Int {
        switch random.next(below: 8) {
        case 0, 1: random.next(below: 9_000)
        // Files of equal size are the most likely to be confused.
        case 2, 3: 4
        default: random.next(below: 300)
        }
    }

    private mutating func offset() -> Int {
        random.nextBool() ? 0 : random.next(below: random.nextBool() ? 200 : 9_000)
    }

    private mutating func mode() -> UInt16 { [0o600, 0o644, 0o755, 0o400][random.next(below: 4)] }

    private mutating func pause() -> Duration {
        let longest = [5, 100, 1_500, 5_000, 40_000][random.next(below: 5)]
        return .milliseconds(1 + random.next(below: longest))
    }

    private mutating func freshSeed() -> UInt64 {
        bytesSeed += 1
        return bytesSeed
    }

    private mutating func name() -> FileName {
        let names = style.scenario == .folding ? Self.foldedNames : Self.names
        return names[random.next(below: names.count)]
    }

    /// Returns a path that probably exists, of one kind or of any.
    private mutating func path(_ kind: FileKind?) -> Path {
        let known = model.tree().filter { kind == nil || model[$0.number].kind == kind }
        guard !known.isEmpty, random.next(below: 12) > 0 else { return freshPath() }
        return Path(known[random.next(below: known.count)].path)
    }

    /// Returns a name in a directory that probably exists.
    private mutating func freshPath() -> Path {
        let directories = model.tree().filter {
            model[$0.number].kind == .directory && $0.path.count < 4
        }
        let index = random.next(below: directories.count + 1)
        return Path((index < directories.count ? directories[index].path : []) + [name()])
    }

    private func place(_ path: Path) -> (FileName, ReferenceModel.Number)? {
        try? path.place(in: model)
    }

    private mutating func make(_ kind: FileKind, at path: Path) {
        guard let (name, parent) = place(path) else { return }
        _ = try? model.create(.init(kind: kind, mode: 0o644), name, in: parent)
    }
}
