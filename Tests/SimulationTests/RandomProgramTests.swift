import Engine
import Foundation
import Simulation
import Testing

/// Goal: whatever programs do, and whatever fails meanwhile, the mounted tree is what POSIX says,
/// and the remote comes to be the same.
///
/// Method: random programs against engine and reference model; see `docs/sync.md`.
@Suite struct RandomProgramTests {
    @Test(arguments: 0..<60 as Range<UInt64>)
    func `programs end as the model says`(seed: UInt64) {
        var style = RandomProgram.Style()
        style.hasFaults = false
        style.hasDeaths = false
        Verdict.expectPass(RandomProgram(seed: seed, style: style))
    }

    @Test(arguments: 1_000..<1_040 as Range<UInt64>)
    func `programs end as the model says although the remote fails`(seed: UInt64) {
        var style = RandomProgram.Style()
        style.hasDeaths = false
        Verdict.expectPass(RandomProgram(seed: seed, style: style))
    }

    @Test(arguments: 2_000..<2_040 as Range<UInt64>)
    func `programs end as the model says although the process is killed`(seed: UInt64) {
        var style = RandomProgram.Style()
        style.hasFaults = false
        Verdict.expectPass(RandomProgram(seed: seed, style: style))
    }

    @Test(arguments: 3_000..<3_040 as Range<UInt64>)
    func `programs end as the model says although everything happens`(seed: UInt64) {
        Verdict.expectPass(RandomProgram(seed: seed, style: RandomProgram.Style()))
    }
}
