import Engine

/// The input of a call of the remote control; each function uses some of these.
struct RcloneInput: Encodable, Sendable {
    struct Options: Encodable {
        var noMimeType = true
        var filesOnly: Bool?
        var showHash: Bool?
        var hashTypes: [String]?
    }

    /// Settings for one call: files are never considered equal by size and time.
    struct Config: Encodable {
        var ignoreTimes = true
        var partialSuffix = RcloneHidden.partSuffix

        enum CodingKeys: String, CodingKey {
            case ignoreTimes = "IgnoreTimes"
            case partialSuffix = "PartialSuffix"
        }
    }

    var fs: String?
    var remote: String?
    var srcFs: String?
    var srcRemote: String?
    var dstFs: String?
    var dstRemote: String?
    var opt: Options?
    var command: String?
    var arg: [String]?
    var createEmptySrcDirs: Bool?
    var deleteEmptySrcDirs: Bool?
    var group: String?
    var jobGroup: String?
    var config: Config?
    /// The bandwidth.
    var rate: String?

    /// The parts that an error may repeat: whole paths, and each name in them.
    var names: [String] {
        let paths = [fs, remote, srcFs, srcRemote, dstFs, dstRemote].compactMap(\.self)
        return paths + paths.flatMap { $0.split(separator: "/").map(String.init) }
    }

    enum CodingKeys: String, CodingKey {
        case fs, remote, srcFs, srcRemote, dstFs, dstRemote, opt, command, arg
        case createEmptySrcDirs, deleteEmptySrcDirs, group, rate
        case jobGroup = "_group"
        case config = "_config"
    }
}

/// One object, as rclone describes it.
struct RcloneItem: Decodable, Sendable {
    let name: String
    /// -1 if unknown.
    let size: Int64
    let modified: String
    let isDirectory: Bool
    let id: String?
    let hashes: [String: String]?

    /// Whether its size is known; always true for a directory.
    var isSized: Bool { isDirectory || size >= 0 }

    enum CodingKeys: String, CodingKey {
        case name = "Name"
        case size = "Size"
        case modified = "ModTime"
        case isDirectory = "IsDir"
        case id = "ID"
        case hashes = "Hashes"
    }
}

struct RcloneList: Decodable, Sendable {
    let list: [RcloneItem]?
}

struct RcloneStat: Decodable, Sendable {
    let item: RcloneItem?
}

struct RcloneAbout: Decodable, Sendable {
    let total: Int64?
    let used: Int64?
    let free: Int64?
}

struct RcloneStats: Decodable, Sendable {
    let bytes: Int64?
}

struct RcloneCommandResult: Decodable, Sendable {
    let error: Bool
    let result: String?
}

struct RcloneCoreVersion: Decodable, Sendable {
    let decomposed: [Int]
}

struct RclonePublicLink: Decodable, Sendable {
    let url: String
}

struct RcloneNothing: Decodable, Sendable {}

struct RcloneFault: Decodable, Sendable {
    let error: String
}

/// The abilities of a remote.
struct RcloneFileSystem: Decodable, Sendable {
    struct Features: Decodable, Sendable {
        /// A feature that is missing here is not supported.
        private let all: [String: Bool]

        init(from decoder: any Decoder) throws {
            all = try decoder.singleValueContainer().decode([String: Bool].self)
        }

        private func has(_ name: String) -> Bool { all[name] == true }

        var tellsSpace: Bool { has("About") }
        var keepsEmptyDirectories: Bool { has("CanHaveEmptyDirectories") }
        var movesDirectories: Bool { has("DirMove") }
        var foldsNames: Bool { has("CaseInsensitive") }
        var movesFiles: Bool { has("Move") }
        var makesPublicLinks: Bool { has("PublicLink") }
        /// Whether a hash costs as much as reading the file.
        var hashesSlowly: Bool { has("SlowHash") }
    }

    let features: Features
    private let hashes: [String]?
    /// The resolution of times, in nanoseconds.
    private let precision: Int64

    enum CodingKeys: String, CodingKey {
        case features = "Features"
        case hashes = "Hashes"
        case precision = "Precision"
    }

    /// rclone's precision for a remote that keeps no times: a hundred years.
    private static let noPrecision: Int64 = 3_153_600_000_000_000_000

    var modifiedResolution: Duration? {
        precision >= Self.noPrecision ? nil : .nanoseconds(max(1, precision))
    }

    /// A hash that costs nothing to request, if there is one.
    var cheapHash: String? {
        features.hashesSlowly ? nil : hashes?.min()
    }
}
