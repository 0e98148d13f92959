import Foundation
import Testing

/// What `apus status --json` says of a mount, as far as tests look at it.
struct MountReport: Decodable {
    struct Counts: Decodable {
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

    struct LostAndFound: Decodable {
        var files: Int
        var path: String
    }

    var counts: Counts
    var items: [Item]
    var lostAndFound: LostAndFound?

    func item(_ path: String) -> Item? { items.first { $0.path == path } }

    /// Versions beside which the remote's has the name.
    var conflicts: [Item] { items.filter { $0.conflictsWith != nil } }
}

extension MountedFolder {
    func report(sourceLocation: SourceLocation = #_sourceLocation) throws -> MountReport {
        let output = try Program.require(
            Apus.path, "status", point, "--json", sourceLocation: sourceLocation)
        let reports = try JSONDecoder().decode([MountReport].self, from: Data(output.utf8))
        return try #require(reports.first, "\(output)", sourceLocation: sourceLocation)
    }

    /// What `user.apus.error` says of a file; nil where nothing is wrong.
    func error(of name: String) throws -> String? {
        let result = try Program.run(
            "getfattr", "--absolute-names", "--only-values", "-n", "user.apus.error", local(name))
        return result.status == 0 ? result.output : nil
    }

    /// How many bytes of a file are on this disk; the daemon may be dead.
    func bytesHere(ofInode inode: UInt) throws -> Int {
        let folder = String(inode & 0xFF, radix: 16)
        return Int(try Files.status("\(state)/content/\(folder)/\(inode)").st_blocks) * 512
    }
}
