import Foundation
import Glibc
import TestBytes
import Testing

/// Changes a tree at random, one system call after another, in a mount whose daemon is killed now and
/// then, and keeps a model of the expected tree.
///
/// A call that returned counts. A call that failed because the daemon was dead may have taken effect
/// or not: the next mount shows which, and nothing else may have changed.
struct AcknowledgedTree {
    private let folder: MountedFolder
    private var random: SeededRandom
    private(set) var expected = TreeContents()
    /// How many calls succeeded.
    private(set) var calls = 0
    /// How many of the calls that failed with the daemon had taken effect, and how many had not.
    private(set) var happened = 0
    private(set) var lost = 0

    /// Few names, so that they are used again and again.
    private static let fileNames = (0..<6).map { "f\($0)" }
    private static let directoryNames = (0..<4).map { "d\($0)" }

    init(_ folder: MountedFolder, random: SeededRandom) {
        self.folder = folder
        self.random = random
    }

    /// Makes one random change: a handful of calls at most, fewer if the mount dies.
    mutating func step() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case ..<30: try writeAnew(name(Self.fileNames))
        case ..<45: try writeWithin()
        case ..<53: try truncate()
        case ..<65: try renameFile()
        case ..<73: try removeFile()
        case ..<85: try makeDirectory()
        case ..<95: try renameDirectory()
        default: try removeDirectory()
        }
    }

    // MARK: Steps

    /// Saves a file as a program does: truncates or creates it, writes two halves, closes it.
    private mutating func writeAnew(_ path: String) throws {
        guard expected.nodes[path] != .directory else { return }
        guard let file = try open(path, O_WRONLY | O_CREAT | O_TRUNC) else { return }
        let bytes = randomBytes()
        let half = bytes.count / 2
        guard try write(bytes[..<half], at: 0, of: path, file),
            try write(bytes[half...], at: half, of: path, file)
        else { return }
        try attempt({ try file.close() }, { _ in })
    }

    /// Writes inside a file, at its end, or a little beyond.
    private mutating func writeWithin() throws {
        guard let path = expected.files.randomElement(using: &random),
            let size = expected.bytes(of: path)?.count,
            let file = try open(path, O_RDWR)
        else { return }
        let offset = Int.random(in: 0...(size + 100), using: &random)
        guard try write(randomBytes()[...], at: offset, of: path, file) else { return }
        if Bool.random(using: &random) {
            guard try attempt({ try file.synchronize() }, { _ in }) else { return }
        }
        try attempt({ try file.close() }, { _ in })
    }

    private mutating func truncate() throws {
        guard let path = expected.files.randomElement(using: &random),
            let bytes = expected.bytes(of: path)
        else { return }
        let size = Int.random(in: 0...(bytes.count + 1000), using: &random)
        let point = folder.local(path)
        try attempt {
            try CallError.check(Glibc.truncate(point, off_t(size)), "truncate \(point)")
        } _: { tree in
            tree.nodes[path] = .file(
                Array(bytes.prefix(size))
                    + [UInt8](repeating: 0, count: max(0, size - bytes.count)))
        }
    }

    private mutating func renameFile() throws {
        guard let path = expected.files.randomElement(using: &random) else { return }
        let newPath = name(Self.fileNames)
        guard newPath != path, expected.nodes[newPath] != .directory else { return }
        try rename(path, to: newPath)
    }

    private mutating func removeFile() throws {
        guard let path = expected.files.randomElement(using: &random) else { return }
        try remove(path)
    }

    private mutating func makeDirectory() throws {
        let path = name(Self.directoryNames)
        guard expected.nodes[path] == nil else { return }
        let point = folder.local(path)
        try attempt({ try Files.makeDirectory(point) }, { $0.nodes[path] = .directory })
    }

    /// Also onto an empty directory.
    private mutating func renameDirectory() throws {
        guard let path = expected.directories.randomElement(using: &random) else { return }
        let newPath = name(Self.directoryNames)
        guard newPath != path, !newPath.hasPrefix(path + "/"),
            expected.nodes[newPath].map({ $0 == .directory }) ?? true,
            expected.paths(below: newPath).isEmpty
        else { return }
        try rename(path, to: newPath)
    }

    /// Removes a directory and its contents name by name, as `rm -r` does.
    private mutating func removeDirectory() throws {
        guard let path = expected.directories.randomElement(using: &random) else { return }
        for below in expected.paths(below: path) + [path] {
            guard try remove(below) else { return }
        }
    }

    // MARK: Calls

    private mutating func open(_ path: String, _ flags: Int32) throws -> OpenFile? {
        let point = folder.local(path)
        var file: OpenFile?
        try attempt {
            file = try OpenFile(point, flags)
        } _: { tree in
            if flags & O_TRUNC != 0 { tree.nodes[path] = .file([]) }
        }
        return file
    }

    /// - Returns: Whether it succeeded.
    private mutating func write(
        _ bytes: ArraySlice<UInt8>, at offset: Int, of path: String, _ file: OpenFile
    ) throws -> Bool {
        guard !bytes.isEmpty else { return true }
        return try attempt {
            try file.write(bytes, at: offset)
        } _: { tree in
            tree.write(bytes, at: offset, of: path)
        } partly: { tree, actual in
            // A daemon that dies in the middle of a write has written a part of it.
            guard let found = actual.bytes(of: path) else { return }
            let count = zip(bytes, found.dropFirst(offset)).prefix { $0 == $1 }.count
            tree.write(bytes.prefix(count), at: offset, of: path)
        }
    }

    private mutating func rename(_ path: String, to newPath: String) throws {
        let (point, newPoint) = (folder.local(path), folder.local(newPath))
        try attempt {
            try Files.rename(point, to: newPoint)
        } _: { tree in
            tree.rename(path, to: newPath)
        }
    }

    /// - Returns: Whether it succeeded.
    @discardableResult
    private mutating func remove(_ path: String) throws -> Bool {
        let isDirectory = expected.nodes[path] == .directory
        let point = folder.local(path)
        return try attempt {
            if isDirectory {
                try Files.removeDirectory(point)
            } else {
                try Files.unlink(point)
            }
        } _: { tree in
            tree.nodes[path] = nil
        }
    }

    /// Makes a system call, and applies its effect to the model.
    ///
    /// - Parameter partly: Applies a partial effect, derived from the tree found afterwards.
    /// - Returns: Whether it succeeded.
    @discardableResult
    private mutating func attempt(
        _ call: () throws -> Void, _ apply: (inout TreeContents) -> Void,
        partly: (inout TreeContents, TreeContents) -> Void = { _, _ in }
    ) throws -> Bool {
        let remounts = folder.remountCount
        do {
            try folder.whileMounted(call)
            apply(&expected)
            calls += 1
            return true
        } catch let error as CallError where error.meansDeadMount {
            let actual = try lookAgain(after: remounts)
            var (whole, part) = (expected, expected)
            apply(&whole)
            partly(&part, actual)
            if actual == whole {
                happened += 1
            } else {
                lost += 1
                try #require(
                    part.differences(from: actual) == [], "after \(calls) calls, \(error)")
            }
            expected = actual
            return false
        }
    }

    /// Returns the whole tree once it is mounted again.
    private func lookAgain(after remounts: Int) throws -> TreeContents {
        var remounts = remounts
        while true {
            try eventually("mounted again", within: .seconds(60)) {
                folder.remountCount != remounts
            }
            remounts = folder.remountCount
            var contents = TreeContents()
            do {
                try folder.whileMounted { contents = try TreeContents(of: folder.point) }
                return contents
            } catch let error as CallError where error.meansDeadMount {
                // Killed once more.
            }
        }
    }

    // MARK: Choices

    /// Returns a name in an existing directory, a few levels deep at most.
    private mutating func name(_ names: [String]) -> String {
        let shallow = expected.directories.filter { $0.count(where: { $0 == "/" }) < 3 }
        let directory = ([""] + shallow).randomElement(using: &random) ?? ""
        let name = names.randomElement(using: &random) ?? names[0]
        return directory.isEmpty ? name : "\(directory)/\(name)"
    }

    private mutating func randomBytes() -> [UInt8] {
        let size = Int.random(in: 0..<10, using: &random) == 0 ? 300_000 : 12_000
        return TestBytes.random(Int.random(in: 0...size, using: &random), seed: random.next())
    }
}

extension TreeContents {
    /// POSIX: `pwrite`, which fills the gap between the end of the file and the offset with zeros.
    fileprivate mutating func write(
        _ bytes: ArraySlice<UInt8>, at offset: Int, of path: String
    ) {
        guard !bytes.isEmpty, var content = self.bytes(of: path) else { return }
        let end = offset + bytes.count
        content += [UInt8](repeating: 0, count: max(0, end - content.count))
        content.replaceSubrange(offset..<end, with: bytes)
        nodes[path] = .file(content)
    }
}
