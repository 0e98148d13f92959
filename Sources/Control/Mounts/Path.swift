import Foundation

/// Paths as users type them.
package enum Path {
    /// Returns an absolute path without `.`, `..` and a slash at its end.
    package static func absolute(_ path: String) -> String {
        let absolute = URL(filePath: path).standardizedFileURL.path(percentEncoded: false)
        return absolute.count > 1 && absolute.hasSuffix("/")
            ? String(absolute.dropLast()) : absolute
    }

    /// Returns the path without symbolic links; nil, with the reason in `errno`, if that fails.
    package static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
