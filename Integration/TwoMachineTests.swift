import Dispatch
import Foundation
import Glibc
import Synchronization
import TestBytes
import Testing

extension MountedTests {
    /// Goal: two machines that change one cloud at the same time end with the same tree, and no content
    /// is lost: each one that was written is there in the end, under its name or as a conflict version,
    /// unless a program that had it before its eyes has replaced or removed it.
    @Suite struct `Two machines` {
        @Test(.timeLimit(.minutes(5)), arguments: [CloudKind.folder, .webdav, .s3])
        func `end with the same tree, and lose nothing`(_ kind: CloudKind) async throws {
            var options = MountedFolder.Options()
            options.mount = ["--refresh", "1s"]
            let random = SeededRandom.announced("two machines, \(kind)")
            try await kind.with(options) { cloud in
                try MountedFolder.with(cloud.options) { first in
                    try MountedFolder.with(cloud.options) { second in
                        for name in Machine.directories {
                            try Files.makeDirectory(first.local(name))
                        }
                        try first.sync()
                        let contents = Contents()
                        let folders = [first, second]
                        DispatchQueue.concurrentPerform(iterations: 2) { number in
                            var machine = Machine(
                                number: number, folder: folders[number], contents: contents,
                                random: SeededRandom(seed: random.seed &+ UInt64(number)))
                            machine.run(steps: 60)
                        }
                        let tree = try Self.converge([first, second], cloud)
                        try contents.check(tree)
                    }
                }
            }
        }

        /// - Returns: The tree that both machines and the cloud have.
        private static func converge(
            _ folders: [MountedFolder], _ cloud: Cloud
        ) throws -> TreeContents {
            var tree = TreeContents()
            try eventually("both machines have the tree of the cloud", within: .seconds(150)) {
                for folder in folders {
                    // An item may wait for the other machine; the trees decide.
                    _ = try Apus.run("sync", folder.point)
                    _ = try Apus.run("refresh", folder.point)
                }
                tree = try cloud.contents()
                // A tree that changes meanwhile may lack a name that was listed.
                return folders.allSatisfy { (try? TreeContents(of: $0.point)) == tree }
            }
            return tree
        }
    }
}

/// The contents that programs have written, and those that they have replaced or removed.
private final class Contents: Sendable {
    private struct State {
        var written: Set<[UInt8]> = []
        var replaced: Set<[UInt8]> = []
    }

    private let state = Mutex(State())

    func noteWritten(_ bytes: [UInt8]) { state.withLock { _ = $0.written.insert(bytes) } }

    func noteReplaced(_ bytes: [UInt8]) { state.withLock { _ = $0.replaced.insert(bytes) } }

    func check(_ tree: TreeContents) throws {
        let (written, replaced) = state.withLock { ($0.written, $0.replaced) }
        let found = Set(tree.files.compactMap(tree.bytes))
        let lost = written.subtracting(replaced).subtracting(found)
        #expect(lost.isEmpty, "lost: \(lost.map(Self.label)); there is \(tree.files)")
        let foreign = found.subtracting(written).subtracting([[]])
        #expect(foreign.isEmpty, "never written: \(foreign.map(Self.label))")
        print("\(written.count) contents were written, \(found.count) are there in the end")
    }

    private static func label(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.prefix(24), as: UTF8.self)
    }
}

/// The programs on one machine, one step after the other.
///
/// A file that is replaced or removed is held open for writing before it is read: from then on the
/// remote's changes of it wait, so that the content that was read is the one that goes.
private struct Machine {
    static let directories = ["x", "y"]
    private static let names = ["a", "b", "x/a", "x/b", "y/a", "z/a"]

    let number: Int
    let folder: MountedFolder
    let contents: Contents
    var random: SeededRandom
    private var count = 0

    init(number: Int, folder: MountedFolder, contents: Contents, random: SeededRandom) {
        self.number = number
        self.folder = folder
        self.contents = contents
        self.random = random
    }

    mutating func run(steps: Int) {
        for _ in 0..<steps {
            do {
                try step()
            } catch let error as CallError
                where [ENOENT, ESTALE, EIO, ENOTEMPTY, EEXIST].contains(error.code)
            {
                // The other machine was first. The kernel makes EIO of an ESTALE for a page of its cache.
            } catch {
                Issue.record("machine \(number): \(error)")
            }
            // There is no event to wait for: both sides are to send and see changes in between.
            usleep(UInt32.random(in: 0...300_000, using: &random))
        }
    }

    private mutating func step() throws {
        let path = name()
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<5: try write(path)
        case 5: try append(path)
        case 6, 7: try move(path, to: name())
        case 8: try remove(path)
        default: try Files.rename(folder.local("y"), to: folder.local("z"))
        }
    }

    private mutating func write(_ path: String) throws {
        let file = try OpenFile(folder.local(path), O_RDWR | O_CREAT)
        contents.noteReplaced(try file.readAll())
        try file.truncate(to: 0)
        let bytes = content()
        try file.write(bytes)
        try file.close()
        contents.noteWritten(bytes)
    }

    private mutating func append(_ path: String) throws {
        let file = try OpenFile(folder.local(path), O_RDWR)
        let former = try file.readAll()
        let more = content()
        try file.write(more, at: former.count)
        try file.close()
        contents.noteReplaced(former)
        contents.noteWritten(former + more)
    }

    private func move(_ path: String, to newPath: String) throws {
        guard path != newPath else { return }
        // Also a new name is taken first: the other machine's file may come meanwhile.
        let target = try OpenFile(folder.local(newPath), O_RDWR | O_CREAT)
        contents.noteReplaced(try target.readAll())
        try Files.rename(folder.local(path), to: folder.local(newPath))
    }

    private func remove(_ path: String) throws {
        let file = try OpenFile(folder.local(path), O_RDWR)
        contents.noteReplaced(try file.readAll())
        try Files.unlink(folder.local(path))
    }

    private mutating func name() -> String {
        Self.names[Int.random(in: 0..<Self.names.count, using: &random)]
    }

    private mutating func content() -> [UInt8] {
        count += 1
        let size = Int.random(in: 0...20_000, using: &random)
        return Array("machine \(number), \(count);".utf8)
            + TestBytes.random(size, seed: random.next())
    }
}
