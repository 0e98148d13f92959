/// What a run of a program found wrong.
package struct ProgramFailure: Error, CustomStringConvertible {
    /// Where in the program; nil at its end.
    package var step: Int?
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
