import CLinux
import Glibc

// xattr(7); links are followed.
extension Files {
    /// - Parameter flags: `XATTR_CREATE`, `XATTR_REPLACE`.
    static func setAttribute(
        _ name: String, to value: [UInt8], flags: Int = 0, of path: String
    ) throws(CallError) {
        try CallError.check(
            setxattr(path, name, value, value.count, CInt(flags)), "setxattr \(name) of \(path)")
    }

    static func attribute(_ name: String, of path: String) throws(CallError) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = try CallError.check(
            getxattr(path, name, &buffer, buffer.count), "getxattr \(name) of \(path)")
        return Array(buffer.prefix(count))
    }

    static func removeAttribute(_ name: String, of path: String) throws(CallError) {
        try CallError.check(removexattr(path, name), "removexattr \(name) of \(path)")
    }

    /// The names of all, in the order of their bytes.
    static func attributeNames(of path: String) throws(CallError) -> [String] {
        var buffer = [CChar](repeating: 0, count: 65_536)
        let count = try CallError.check(
            listxattr(path, &buffer, buffer.count), "listxattr of \(path)")
        return buffer.prefix(count).split(separator: 0)
            .map { String(decoding: $0.map(UInt8.init(bitPattern:)), as: UTF8.self) }.sorted()
    }
}
