import Simulation
import Testing

/// Goal: for all programs and faults, the mounted tree is as POSIX says, the remote becomes equal,
/// and nothing is lost.
///
/// Method: random programs in simulated environments; see `docs/sync.md`. They are few, as a build for
/// debugging takes some ten times as long for each as `make soak`, which CI also runs.
@Suite struct RandomProgramTests {
    @Test(arguments: 0..<8 as Range<UInt64>)
    func `programs end as the model says`(seed: UInt64) {
        var style = RandomProgram.Style()
        style.hasFaults = false
        style.hasDeaths = false
        expectPass(RandomProgram(seed: seed, style: style))
    }

    @Test(arguments: 1_000..<1_008 as Range<UInt64>)
    func `programs end as the model says with faults of the remote`(seed: UInt64) {
        var style = RandomProgram.Style()
        style.hasDeaths = false
        expectPass(RandomProgram(seed: seed, style: style))
    }

    @Test(arguments: 2_000..<2_008 as Range<UInt64>)
    func `programs end as the model says with kills of the process`(seed: UInt64) {
        var style = RandomProgram.Style()
        style.hasFaults = false
        expectPass(RandomProgram(seed: seed, style: style))
    }

    @Test(arguments: 3_000..<3_008 as Range<UInt64>)
    func `programs end as the model says with faults and kills`(seed: UInt64) {
        expectPass(RandomProgram(seed: seed, style: RandomProgram.Style()))
    }

    @Test(arguments: 4_000..<4_008 as Range<UInt64>)
    func `nothing is lost while another client edits the remote`(seed: UInt64) {
        expectPass(.drawn(from: seed, scenario: .shared))
    }

    @Test(arguments: 5_000..<5_008 as Range<UInt64>)
    func `synced data survives a power cut, and no torn data is served`(seed: UInt64) {
        expectPass(.drawn(from: seed, scenario: .powerCut))
    }

    @Test(arguments: 6_000..<6_008 as Range<UInt64>)
    func `nothing is lost while the local disk fails or is full`(seed: UInt64) {
        expectPass(.drawn(from: seed, scenario: .badDisk))
    }

    /// Goal: names that the remote takes for one replace no file and delete none.
    ///
    /// Method: names that differ in case or Unicode form, on both sides. In the end those that cannot
    /// be sent are renamed, as the status advises; then both sides are equal, and nothing is lost.
    @Test(arguments: 6_500..<6_508 as Range<UInt64>)
    func `nothing is lost on a remote that takes different names for one`(seed: UInt64) {
        expectPass(.drawn(from: seed, scenario: .folding))
    }

    /// Goal: excluded names are never on the remote, and nothing of them is lost here.
    @Test(arguments: 6_600..<6_608 as Range<UInt64>)
    func `excluded names stay here, and all others end as the model says`(seed: UInt64) {
        expectPass(.drawn(from: seed, scenario: .excluding))
    }

    /// Programs that once failed, among some ten thousand others.
    ///
    /// In turn: a listing omits a name in doubt, and the directory counts as up to date (three); a directory
    /// is seemingly deleted, and the names that it has lost here stay unknown; a power cut restores a
    /// version whose uploaded bytes are evicted; a listing replaces a file between its lookup and its open; the
    /// failure of a disk to store a file dies with the process, and the file is changed after that; the second
    /// of two power cuts undoes a truncation that the first one had undone on the disk only.
    @Test(
        arguments: [
            (1_883_032_421_144_871, .shared), (1_883_032_421_149_398, .shared),
            (1_883_032_421_152_549, .shared), (1_883_032_421_153_658, .powerCut),
            (1_883_033_968_841_035, .powerCut), (1_883_035_749_330_854, .shared),
            (1_883_035_749_334_043, .powerCut), (1_883_037_268_705_977, .powerCut),
        ] as [(UInt64, RandomProgram.Scenario)])
    func `nothing is lost in rare programs`(seed: UInt64, scenario: RandomProgram.Scenario) {
        expectPass(.drawn(from: seed, scenario: scenario))
    }

    /// Goal: a process may die before any operation of disk, database or remote.
    ///
    /// Method: it dies before the first one of a short program, then the second, until none is
    /// left.
    @Test(arguments: 7_000..<7_001 as Range<UInt64>)
    func `a process may die at any operation`(seed: UInt64) throws {
        var style = RandomProgram.Style()
        style.hasDeaths = false
        style.hasFaults = false
        style.stepCount = 20
        var program = RandomProgram(seed: seed, style: style)
        // All uploads happen before the end.
        program.steps.append(.waitForRest)
        let count = try program.run()
        #expect(count > 50)
        program.steps.insert(.killSoon(steps: count + 1), at: 0)
        #expect(try program.run() == count, "none is left")
        for step in 1...count {
            program.steps[0] = .killSoon(steps: step)
            expectPass(program)
        }
        print("seed \(seed): a process died at each of \(count) operations")
    }

    private func expectPass(
        _ program: RandomProgram, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        if let report = Trial.report(on: program) {
            Issue.record(Comment(rawValue: report), sourceLocation: sourceLocation)
        }
    }
}
