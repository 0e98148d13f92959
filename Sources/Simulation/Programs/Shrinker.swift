/// Shortens a failing program by leaving out steps.
package enum Shrinker {
    /// - Parameters:
    ///   - runsMax: The maximum number of runs.
    ///   - fails: Whether a program fails; called only for programs shorter than `program`.
    /// - Returns: A program that could not be shortened further in `runsMax` runs.
    package static func shrink(
        _ program: RandomProgram, runsMax: Int = 400, fails: (RandomProgram) -> Bool
    ) -> RandomProgram {
        var best = program
        var runs = 0
        var length = max(1, best.steps.count / 2)
        while runs < runsMax {
            let before = best.steps.count
            var start = 0
            while start < best.steps.count, runs < runsMax {
                var shorter = best
                shorter.steps.removeSubrange(start..<min(best.steps.count, start + length))
                runs += 1
                if fails(shorter) { best = shorter } else { start += length }
            }
            if length == 1, best.steps.count == before { break }
            length = max(1, length / 2)
        }
        for index in best.initialTree.indices.reversed() where runs < runsMax {
            var shorter = best
            shorter.initialTree.remove(at: index)
            runs += 1
            if fails(shorter) { best = shorter }
        }
        return best
    }
}
