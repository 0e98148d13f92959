import Glibc
import Testing

extension MountedTests {
    @Suite(.timeLimit(.minutes(1)))
    struct `The threads of a daemon` {
        /// For users of `top -H` and `perf`, see `docs/architecture.md`.
        @Test func `have the names that the documents give`() throws {
            try MountedFolder.with { folder in
                try Files.write([1], to: folder.local("file"))
                try folder.sync()
                let tasks = "/proc/\(try #require(folder.daemon))/task"
                let names = try Files.names(in: tasks).compactMap { task -> String? in
                    // Threads come and go.
                    let file = try? OpenFile("\(tasks)/\(task)/comm", O_RDONLY)
                    let line = try? file?.read(16)
                    return line.map { String(decoding: $0.dropLast(), as: UTF8.self) }
                }
                #expect(
                    Set(names).isSuperset(of: ["apus-fuse", "apus-request-0", "apus-transfer-0"]),
                    "\(names)")
            }
        }

        /// Memory that threads have freed stays in the arenas of malloc, see `docs/architecture.md`.
        @Test func `share two arenas of malloc, the main one included`() throws {
            try MountedFolder.with { folder in
                for number in 0..<30 { try Files.write([1], to: folder.local("\(number)")) }
                try folder.sync()
                let daemon = try #require(folder.daemon)
                #expect(try Files.names(in: "/proc/\(daemon)/task").count > 10)
                let maps = try OpenFile("/proc/\(daemon)/maps", O_RDONLY).read(1 << 20)
                #expect(Self.arenas(in: String(decoding: maps, as: UTF8.self)) == 1)
            }
        }

        /// Counts the arenas besides the main one: glibc reserves 64 MiB for each, at a multiple of that, and
        /// opens them from the start on.
        private static func arenas(in maps: String) -> Int {
            let size: UInt64 = 64 << 20
            var count = 0
            var former: Range<UInt64>?
            for line in maps.split(separator: "\n") {
                let fields = line.split(separator: " ")
                let ends = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
                let range = ends[0]..<ends[1]
                let isReserved = fields[1] == "---p" && range.upperBound % size == 0
                if isReserved, fields.count < 6, let former, former.lowerBound % size == 0,
                    former.upperBound == range.lowerBound
                {
                    count += 1
                }
                former = range
            }
            return count
        }
    }
}
