import Foundation

/// The resources that this process takes at present.
package struct ProcessUsage: Sendable {
    package let residentBytes: UInt64
    package let processorSeconds: Double
    package let descriptors: UInt64
    /// In seconds since 1970.
    package let startTime: Double

    package init() {
        let ticksPerSecond = Double(sysconf(Int32(_SC_CLK_TCK)))
        // proc(5): the second field, in parentheses, may have blanks.
        let fields =
            Self.text("/proc/self/stat").split(separator: ")").last?
            .split(separator: " ").map { UInt64($0) ?? 0 } ?? []
        func field(_ number: Int) -> UInt64 {
            fields.indices.contains(number - 3) ? fields[number - 3] : 0
        }
        residentBytes = field(24) * UInt64(sysconf(Int32(_SC_PAGESIZE)))
        processorSeconds = Double(field(14) + field(15)) / ticksPerSecond
        let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        descriptors = UInt64(names?.count ?? 0)
        let boot = Self.text("/proc/stat").split(separator: "\n")
            .first { $0.hasPrefix("btime ") }?.split(separator: " ").last.flatMap { Double($0) }
        startTime = (boot ?? 0) + Double(field(22)) / ticksPerSecond
    }

    private static func text(_ path: String) -> String {
        (try? FileHandle(forReadingFrom: URL(filePath: path)).readToEnd())
            .flatMap { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
