import Glibc

/// The kernel of this machine.
enum RunningKernel {
    /// Whether it is Linux `major`.`minor` or later.
    static func isAtLeast(_ major: Int, _ minor: Int) -> Bool {
        var names = utsname()
        guard uname(&names) == 0 else { return false }
        let release = withUnsafeBytes(of: names.release) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        let numbers = release.split { !$0.isNumber }.prefix(2).compactMap { Int($0) }
        return numbers.count == 2 && (numbers[0], numbers[1]) >= (major, minor)
    }
}
