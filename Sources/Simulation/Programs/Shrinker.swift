/// Finds a short program that still fails, by leaving steps out.
package enum Shrinker {
    /// - Parameters:
    ///   - runsMax: How many runs it may take.
    ///   - fails: Whether a program fails; asked for nothing but programs shorter than `program`.
    /// - Returns: A program of which no further part could be left out within the bound.
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
