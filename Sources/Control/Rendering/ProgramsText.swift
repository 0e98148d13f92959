extension ProgramsReport {
    /// Returns a block for each program: a line with its bytes and files, and lines with the largest of
    /// them.
    ///
    /// - Parameter columns: The maximum width of a line; nil for none.
    package func text(columns: Int?) -> String {
        guard !programs.isEmpty else {
            return "No program has had anything fetched in the last hour."
        }
        return programs.map { program in
            let files =
                (program.hasMore ? "over " : "") + counted(program.files, "file", "files")
            let head = "\(program.program): \(HumanSize.format(program.bytes)) of \(files)"
            let lines = program.largest.map { file in
                "  \(HumanSize.format(file.bytes))  \(file.path.shellEscaped)"
            }
            let rest = program.files - program.largest.count
            let more =
                rest > 0 && !lines.isEmpty ? ["  and \(counted(rest, "other", "others"))"] : []
            return ([head] + lines + more).map { line in
                columns.map { line.shortened(to: $0) } ?? line
            }.joined(separator: "\n")
        }.joined(separator: "\n")
    }
}
