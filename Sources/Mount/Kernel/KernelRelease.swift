import Glibc

/// The version of a Linux kernel, as far as FUSE differs.
package struct KernelRelease: Comparable, Sendable {
    private let major: Int
    private let minor: Int

    /// The running kernel.
    package static let running: KernelRelease = {
        var names = utsname()
        guard uname(&names) == 0 else { return KernelRelease("") }
        let text = withUnsafeBytes(of: names.release) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        return KernelRelease(text)
    }()

    /// - Parameter text: As of uname(2): `6.1.0-18-amd64`. Counts as the oldest if it is not such.
    package init(_ text: String) {
        let numbers = text.split(separator: ".").prefix(2)
            .map { Int($0.prefix { $0.isNumber }) ?? 0 }
        major = numbers.first ?? 0
        minor = numbers.dropFirst().first ?? 0
    }

    package static func < (left: KernelRelease, right: KernelRelease) -> Bool {
        (left.major, left.minor) < (right.major, right.minor)
    }

    /// Whether it can read files of a mount by itself: FUSE_PASSTHROUGH.
    package var hasPassthrough: Bool { self >= KernelRelease("6.9") }

    /// Whether a file that is read past the kernel's cache can be mapped with MAP_SHARED:
    /// FUSE_DIRECT_IO_ALLOW_MMAP.
    var mapsUncachedFiles: Bool { self >= KernelRelease("6.6") }

    /// Whether FUSE_NOTIFY_INC_EPOCH invalidates all names at once.
    var hasEpochs: Bool { self >= KernelRelease("6.16") }

    /// Whether the invalidation of a name drops its absence too: from 6.19 on, the kernel ignores names
    /// that it knows as absent.
    var invalidatesAbsences: Bool { self < KernelRelease("6.19") }
}
