import CLinux
import Engine
import Glibc
import ProviderSupport
import SystemCalls

/// Reads and writes the extended attributes of a file for programs, `user.*`. xattr(7).
///
/// The mark that Apus sets on a directory under a mount is not among them.
enum FolderAttributes {
    /// Whether the file system has such attributes.
    static func areKept(at path: [CChar]) -> Bool {
        getxattr(path, "user.apus.probe", nil, 0) >= 0 || errno != EOPNOTSUPP
    }

    /// - Parameters:
    ///   - path: Ends with NUL.
    ///   - follows: Whether a link at its end is followed, such as a descriptor's name in `/proc`.
    /// - Returns: nil if the file system has none, or does not permit reading them.
    static func read(_ path: [CChar], follows: Bool) throws(ProviderError) -> ExtendedAttributes? {
        let list = try bytes(
            { follows ? listxattr(path, $0, $1) : llistxattr(path, $0, $1) }, "listxattr")
        guard let list else { return nil }
        var attributes = ExtendedAttributes()
        for name in list.split(separator: 0).map(Array.init) where ExtendedAttributes.isKept(name) {
            let text = name.map(CChar.init(bitPattern:)) + [0]
            let value = try bytes(
                {
                    follows
                        ? getxattr(path, text, UnsafeMutableRawPointer($0), $1)
                        : lgetxattr(path, text, UnsafeMutableRawPointer($0), $1)
                }, "getxattr")
            // A user who may read the file may read all of them, or none.
            guard let value else { return nil }
            attributes[name] = value
        }
        return attributes
    }

    /// Sets, changes and removes attributes until a file has exactly these.
    ///
    /// - Parameter path: Ends with NUL; a link at its end is followed.
    static func set(
        _ wanted: ExtendedAttributes, from found: ExtendedAttributes, at path: [CChar]
    ) throws(ProviderError) {
        for name in found.names where wanted[name] == nil {
            let text = name.map(CChar.init(bitPattern:)) + [0]
            if removexattr(path, text) != 0, errno != ENODATA {
                throw ProviderError(.last, in: "removexattr")
            }
        }
        for name in wanted.names where wanted[name] != found[name] {
            let text = name.map(CChar.init(bitPattern:)) + [0]
            let value = wanted[name] ?? []
            try ProviderError.check("setxattr", setxattr(path, text, value, value.count, 0))
        }
    }

    /// Reads the length, then the bytes, until both agree.
    private static func bytes(
        _ read: (UnsafeMutablePointer<CChar>?, Int) -> Int, _ call: String
    ) throws(ProviderError) -> [UInt8]? {
        while true {
            let count = read(nil, 0)
            if count == 0 { return [] }
            var buffer = [CChar](repeating: 0, count: max(0, count))
            let filled = count < 0 ? count : read(&buffer, count)
            if filled >= 0 { return buffer.prefix(filled).map(UInt8.init(bitPattern:)) }
            switch errno {
            case ERANGE: continue
            case EOPNOTSUPP, EACCES, EPERM, ENODATA: return nil
            default: throw ProviderError(.last, in: call)
            }
        }
    }
}
