import Engine
import Foundation
import Simulation
import Testing

/// Goal: whatever programs do, and whatever fails meanwhile, the mounted tree is what POSIX says,
/// and the remote comes to be the same.
///
/// Method: random programs against engine and reference model; see `docs/sync.md`.
@Suite struct RandomProgramTests {
    @Test(arguments: 0..<40 as Range<UInt64>)
    func `quiet programs end as the model says`(seed: UInt64) {
        var style = RandomProgram.Style()
        style.hasFaults = false
        style.hasDeaths = false
        Verdict.expectPass(RandomProgram(seed: seed, style: style))
    }
}
