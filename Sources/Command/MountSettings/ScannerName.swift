import ArgumentParser

/// The name of a program that gets only the ranges that it reads, see `Scanners`.
enum ScannerName {
    /// Parses the value of an option.
    ///
    /// - Throws: `ValidationError` for a path, and for several names in one text.
    static func parse(_ text: String) throws -> String {
        guard !text.isEmpty, !text.contains("/"), !text.contains(":") else {
            throw ValidationError(
                "\"\(text)\" is not the name of a program; write it without its folder, like updatedb"
            )
        }
        return text
    }
}
