/// The programs that have had bytes of files fetched in the last hour.
package struct ProgramsReport: Codable, Hashable, Sendable {
    package var mountPoint: String
    /// Those with the most bytes first.
    package var programs: [ProgramDownloads]

    package init(mountPoint: String, programs: [ProgramDownloads]) {
        self.mountPoint = mountPoint
        self.programs = programs
    }
}

/// The bytes of files that were fetched for one program.
package struct ProgramDownloads: Codable, Hashable, Sendable {
    package struct File: Codable, Hashable, Sendable {
        /// Relative to the mount point.
        package var path: String
        package var bytes: UInt64

        package init(path: String, bytes: UInt64) {
            (self.path, self.bytes) = (path, bytes)
        }
    }

    /// The name of its executable file or script; `apus` for pins, downloads and changes, `unknown` for
    /// programs that the system does not tell of.
    package var program: String
    package var bytes: UInt64
    package var files: Int
    /// Whether there are more, which were too many to tell apart.
    @OmittedIfFalse package var hasMore: Bool
    /// The files with the most bytes.
    package var largest: [File]

    package init(
        program: String, bytes: UInt64, files: Int, hasMore: Bool = false, largest: [File]
    ) {
        self.program = program
        self.bytes = bytes
        self.files = files
        self.hasMore = hasMore
        self.largest = largest
    }

    private enum CodingKeys: String, CodingKey {
        case program, bytes, files, largest
        case hasMore = "more"
    }
}
