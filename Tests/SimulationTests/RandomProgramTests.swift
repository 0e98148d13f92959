import Simulation
import Testing

/// Goal: whatever programs do, and whatever fails meanwhile, the mounted tree is what POSIX says,
/// the remote comes to be the same, and nothing is lost.
///
/// Method: random programs in simulated worlds; see `docs/sync.md`.
@Suite struct RandomProgramTests {
    @Test(arguments: 0..<100 as Range<UInt64>)
    func `programs end as the model says`(seed: UInt64) {
        var style = RandomProgram.Style()
        style.hasFaults = false
        style.hasDeaths = false
        expectPass(RandomProgram(seed: seed, style: style))
    }

    @Test(arguments: 1_000..<1_100 as Range<UInt64>)
    func `programs end as the model says although the remote fails`(seed: UInt64) {
        var style = RandomProgram.Style()
        style.hasDeaths = false
        expectPass(RandomProgram(seed: seed, style: style))
    }

    @Test(arguments: 2_000..<2_100 as Range<UInt64>)
    func `programs end as the model says although the process is killed`(seed: UInt64) {
        var style = RandomProgram.Style()
        style.hasFaults = false
        expectPass(RandomProgram(seed: seed, style: style))
    }

    @Test(arguments: 3_000..<3_100 as Range<UInt64>)
    func `programs end as the model says although everything happens`(seed: UInt64) {
        expectPass(RandomProgram(seed: seed, style: RandomProgram.Style()))
    }

    @Test(arguments: 4_000..<4_140 as Range<UInt64>)
    func `nothing is lost although another client edits the remote`(seed: UInt64) {
        expectPass(.drawn(from: seed, scenario: .shared))
    }

    @Test(arguments: 5_000..<5_100 as Range<UInt64>)
    func `what was synchronised survives a power cut, and nothing torn is served`(seed: UInt64) {
        expectPass(.drawn(from: seed, scenario: .powerCut))
    }

    @Test(arguments: 6_000..<6_100 as Range<UInt64>)
    func `nothing is lost although the local disk fails or is full`(seed: UInt64) {
        expectPass(.drawn(from: seed, scenario: .badDisk))
    }

    /// Goal: no operation of disk, database or remote is one over which a process must not die.
    ///
    /// Method: let it die before the first one of a short program, then the second, until none is
    /// left.
    @Test(arguments: 7_000..<7_004 as Range<UInt64>)
    func `a process may die at any operation`(seed: UInt64) throws {
        var style = RandomProgram.Style()
        style.hasDeaths = false
        style.hasFaults = false
        style.stepCount = 20
        var program = RandomProgram(seed: seed, style: style)
        // What is sent is sent before the end.
        program.steps.append(.waitForRest)
        let count = try AloneRun.perform(program).operationCount
        #expect(count > 50)
        program.steps.insert(.killSoon(steps: count + 1), at: 0)
        #expect(try AloneRun.perform(program).operationCount == count, "none is left")
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
