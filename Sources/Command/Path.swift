import Foundation

/// Paths as users type them.
enum Path {
    static func absolute(_ path: String) -> String {
        let absolute = URL(filePath: path).standardizedFileURL.path(percentEncoded: false)
        return absolute.count > 1 && absolute.hasSuffix("/")
            ? String(absolute.dropLast()) : absolute
    }
}
