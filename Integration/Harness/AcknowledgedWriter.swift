import Foundation
import Glibc
import TestBytes
import Testing

/// Changes files in a mount whose daemon is killed now and then, and keeps a model of the expected
/// files: exactly the changes that succeeded.
struct AcknowledgedWriter {
    private let folder: MountedFolder
    private var random: SeededRandom
    /// The expected bytes of each file, by path.
    private(set) var expected: [String: [UInt8]] = [:]
    /// How often a call failed because the daemon was dead.
    private(set) var failures = 0

    init(_ folder: MountedFolder, random: SeededRandom) {
        self.folder = folder
        self.random = random
    }

    /// Writes one file, and sometimes changes another.
    mutating func step(_ number: Int) throws {
        let directory = "\(number / 100)"
        if number.isMultiple(of: 100) { try makeDirectory(directory) }
        try write("\(directory)/file-\(number)")
        guard let other = expected.keys.sorted().randomElement(using: &random) else { return }
        switch Int.random(in: 0..<20, using: &random) {
        case 0: try write(other)
        case 1: try rename(other, to: other + ".moved")
        case 2: try remove(other)
        default: break
        }
    }

    /// The bytes of all files below a directory, by path.
    func contents(below root: String) throws -> [String: [UInt8]] {
        var contents: [String: [UInt8]] = [:]
        for directory in try Files.names(in: root) {
            for name in try Files.names(in: "\(root)/\(directory)") {
                contents["\(directory)/\(name)"] = try Files.read("\(root)/\(directory)/\(name)")
            }
        }
        return contents
    }

    /// Describes the first few files that are missing, different or unexpected.
    func differences(from actual: [String: [UInt8]]) -> [String] {
        let paths = Set(expected.keys).union(actual.keys).sorted()
        let different = paths.compactMap { path -> String? in
            guard expected[path] != actual[path] else { return nil }
            let sizes = [expected[path], actual[path]].map { $0.map { "\($0.count)" } ?? "none" }
            return "\(path): \(sizes[0]) against \(sizes[1]) bytes"
        }
        return Array(different.prefix(20))
    }

    // MARK: Changes, repeated until they succeed

    private mutating func write(_ path: String) throws {
        let size = Int.random(in: 0..<10, using: &random) == 0 ? 300_000 : 12_000
        let bytes = TestBytes.random(
            Int.random(in: 0...size, using: &random), seed: random.next())
        try retrying { folder in
            let file = try OpenFile(folder.local(path), O_WRONLY | O_CREAT | O_TRUNC)
            let half = bytes.count / 2
            try file.write(bytes[..<half])
            try file.write(bytes[half...], at: half)
            try file.close()
        }
        expected[path] = bytes
    }

    private mutating func makeDirectory(_ path: String) throws {
        try retrying { folder in
            do {
                try Files.makeDirectory(folder.local(path))
            } catch let error as CallError where error.code == EEXIST {
                // An attempt before, whose answer did not come.
            }
        }
    }

    private mutating func rename(_ path: String, to newPath: String) throws {
        var isRepeated = false
        try retrying { folder in
            defer { isRepeated = true }
            do {
                try Files.rename(folder.local(path), to: folder.local(newPath))
            } catch let error as CallError where error.code == ENOENT && isRepeated {
                _ = try Files.status(folder.local(newPath))
            }
        }
        expected[newPath] = expected.removeValue(forKey: path)
    }

    private mutating func remove(_ path: String) throws {
        var isRepeated = false
        try retrying { folder in
            defer { isRepeated = true }
            do {
                try Files.unlink(folder.local(path))
            } catch let error as CallError where error.code == ENOENT && isRepeated {
                // An attempt before, whose answer did not come.
            }
        }
        expected[path] = nil
    }

    private mutating func retrying(_ change: (MountedFolder) throws -> Void) throws {
        while true {
            let remounts = folder.remountCount
            do {
                return try folder.whileMounted { try change(folder) }
            } catch let error as CallError where error.meansDeadMount {
                failures += 1
            }
            try eventually("mounted again", within: .seconds(60)) {
                folder.remountCount != remounts
            }
        }
    }
}
