/// A failed check in the run of a program.
package struct ProgramFailure: Error, CustomStringConvertible {
    let reason: String
    /// The step of the program; `nil` at its end.
    package var step: Int?
    /// The last lines of the log.
    package var log: [String] = []

    package init(_ reason: String) {
        self.reason = reason
    }

    /// The reason without names and numbers: two failures of one kind have the same.
    package var kind: String {
        String(reason.prefix(40).filter { $0.isLetter || $0 == " " })
    }

    package var description: String {
        let place = step.map { "at step \($0)" } ?? "at the end"
        return ([reason + ", " + place] + log).joined(separator: "\n")
    }
}
