import Glibc
import SystemCalls

/// A file that may hold secrets, which only its owner may access then.
package struct PrivateFile: Sendable {
    package let text: String
    /// The reason not to trust it with secrets: other users may read or change it.
    package let exposure: SourceError?

    /// - Returns: nil if there is no such file.
    /// - Throws: `.unavailable` with a remedy if it cannot be read.
    package init?(at path: String) throws(SourceError) {
        do throws(SmallFile.Failure) {
            guard let file = try SmallFile(at: path) else { return nil }
            text = file.text
            exposure = Self.exposure(of: file, at: path)
        } catch {
            throw Self.failure(error, path)
        }
    }

    /// - Returns: The text of a file with secrets; nil if there is no such file.
    /// - Throws: `.unavailable` with a remedy if it cannot be read, or other users may read or change it.
    package static func text(at path: String) throws(SourceError) -> String? {
        guard let file = try PrivateFile(at: path) else { return nil }
        if let exposure = file.exposure { throw exposure }
        return file.text
    }

    private static func exposure(of file: SmallFile, at path: String) -> SourceError? {
        guard file.ownerID == geteuid() else {
            return SourceError(
                .unavailable, "\(path) is owned by another user, who could change it",
                remedy: "take ownership with 'chown $USER \(path)'")
        }
        guard file.mode & 0o077 != 0 else { return nil }
        return SourceError(
            .unavailable, "\(path) contains secrets, and other users may open it",
            remedy: "restrict it with 'chmod 600 \(path)'")
    }

    private static func failure(_ failure: SmallFile.Failure, _ path: String) -> SourceError {
        switch failure {
        case .system(let error):
            SourceError(
                .unavailable, "cannot open \(path): \(error)",
                remedy: "make it readable for this user with 'chmod 600 \(path)'")
        case .notRegular:
            SourceError(
                .unavailable, "\(path) is not a file", remedy: "make it a file of mode 0600")
        case .tooLong:
            SourceError(
                .unavailable, "\(path) is too long for a credentials file",
                remedy: "keep only credentials in it")
        }
    }
}
