import Foundation
import Testing

/// The parts of the output of `apus status --json` that tests use.
struct MountReport: Decodable {
    struct Held: Decodable {
        var items: Int
    }

    struct Counts: Decodable {
        var held: Held?
        var pending: Int
        var deletions: Int
        var conflicts: Int
        var failed: Int
    }

    struct Problem: Decodable {
        var what: String
        var why: String
        var remedy: String?
    }

    struct Item: Decodable {
        var path: String
        var state: String
        var operation: String?
        var error: Problem?
        var conflictsWith: String?
    }

    struct Remote: Decodable {
        var reachable: Bool
    }

    struct LostAndFound: Decodable {
        var files: Int
        var path: String
    }

    struct Passthrough: Decodable {
        var used: Bool
        var reason: String?
    }

    struct Pins: Decodable {
        var items: Int
        var files: Int
        var bytes: Int
        var filesMissing: Int
        var bytesMissing: Int
        var counting: Bool?
        var hindrance: Problem?

        /// Whether everything is counted and here.
        var isWhole: Bool { filesMissing == 0 && counting == nil }
    }

    struct Traffic: Decodable {
        var sent: Int
        var received: Int
    }

    var counts: Counts
    var remote: Remote
    var traffic: Traffic
    var items: [Item]
    var lostAndFound: LostAndFound?
    var passthrough: Passthrough?
    var pins: Pins?

    func item(_ path: String) -> Item? { items.first { $0.path == path } }

    /// Conflict versions, which the remote version displaced from their name.
    var conflicts: [Item] { items.filter { $0.conflictsWith != nil } }
}

extension MountedFolder {
    func report(sourceLocation: SourceLocation = #_sourceLocation) throws -> MountReport {
        let output = try Program.require(
            Apus.path, "status", point, "--json", sourceLocation: sourceLocation)
        let reports = try JSONDecoder().decode([MountReport].self, from: Data(output.utf8))
        return try #require(reports.first, "\(output)", sourceLocation: sourceLocation)
    }

    /// Returns the `user.apus.error` of a file, or nil if it has none.
    func error(of name: String) throws -> String? {
        let result = try Program.run(
            "getfattr", "--absolute-names", "--only-values", "-n", "user.apus.error", local(name))
        return result.status == 0 ? result.output : nil
    }

    /// Returns how many bytes of a file are on this disk. Does not need the daemon.
    func bytesHere(ofInode inode: UInt) throws -> Int {
        let folder = String(inode & 0xFF, radix: 16)
        return Int(try Files.status("\(state)/content/\(folder)/\(inode)").st_blocks) * 512
    }
}
