import Foundation
import GRDB
import Host
import Logging
import Simulation
import Testing

@testable import Engine

/// A state directory as an engine leaves it, with something of each kind in it.
///
/// ```
/// docs/            2, on the remote
/// docs/clean.txt   3, on the remote, whole
/// docs/dirty.txt   4, only here
/// far.bin          5, on the remote, no bytes here
/// part.bin         6, on the remote, bytes 0 to 10 of 100 here
/// docs/sub/        7, only here
/// docs/sub/link    8, only here
/// ```
final class StateFixture {
    static let dirtyBytes = "dirty bytes"

    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        try make()
    }

    var path: String { directory.path }
    var database: String { "\(path)/state.sqlite" }

    private func make() throws {
        let store = try Store(path: database)
        let engine = try engine(store)
        try store.write { try $0.execute(sql: "UPDATE inodes SET listed = 1") }
        let docs = try engine.createDirectory(name("docs"), in: .root, mode: 0o755, caller: .test)
        try file("clean.txt", in: docs.inode, "clean", engine)
        try file("dirty.txt", in: docs.inode, Self.dirtyBytes, engine)
        try file("far.bin", in: .root, "", engine)
        try file("part.bin", in: .root, String(repeating: "p", count: 100), engine)
        let sub = try engine.createDirectory(
            name("sub"), in: docs.inode, mode: 0o755, caller: .test)
        _ = try engine.createSymlink(
            name("link"), in: sub.inode, target: Array("../clean.txt".utf8), caller: .test)
        try store.write { database in
            try database.execute(
                sql: """
                    UPDATE inodes SET presence = 0, size = 100 WHERE id = 5;
                    UPDATE inodes SET presence = 1 WHERE id = 6;
                    INSERT INTO extents VALUES (6, 0, 10);
                    INSERT INTO synced SELECT id, parent, name,
                        CASE kind WHEN 0 THEN 'e1' END, size, mode, modified, generation, x'',
                        NULL, NULL, NULL
                    FROM inodes JOIN dirents ON inode = id WHERE id IN (2, 3, 5, 6);
                    DELETE FROM pending WHERE inode IN (2, 3, 5, 6);
                    """)
        }
        store.close()
    }

    func engine(_ store: Store) throws -> Engine {
        let clock = SimulatedClock()
        return try Engine(
            configuration: EngineConfiguration(
                source: "folder:/cloud", owner: .test, hostName: "wren", controlSocket: "/none"),
            store: store, disk: try PosixDisk(directory: path), clock: clock,
            provider: SimulatedProvider(
                clock: clock, random: SeededGenerator(seed: 1),
                settings: SimulatedProviderSettings()),
            logger: Logger(label: "test"), random: { 0 })
    }

    private func name(_ text: String) -> FileName { FileName(stored: Array(text.utf8)) }

    private func file(
        _ name: String, in parent: InodeNumber, _ text: String, _ engine: Engine
    ) throws {
        let file = try engine.createFile(
            self.name(name), in: parent, mode: 0o644, caller: .test)
        try write(text, to: file.inode, engine)
        engine.release(file.inode, access: .write)
    }

    func write(_ text: String, to inode: InodeNumber, _ engine: Engine) throws {
        let bytes = Array(text.utf8)
        let failure = bytes.withUnsafeBytes { buffer -> (any Error)? in
            do {
                try engine.write(inode, buffer, at: 0)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }

    // MARK: Damage

    /// Changes the database without its foreign keys and checks, as damage to the disk may.
    func execute(_ sql: String) throws {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA ignore_check_constraints = ON")
        }
        let queue = try DatabaseQueue(path: database, configuration: configuration)
        try queue.write { try $0.execute(sql: sql) }
        try queue.close()
    }

    func count(_ table: String) throws -> Int {
        let queue = try DatabaseQueue(path: database)
        defer { try? queue.close() }
        return try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") } ?? 0
    }

    func totals() throws -> Totals {
        let queue = try DatabaseQueue(path: database)
        defer { try? queue.close() }
        return try queue.read { try $0.totals() }
    }

    func content(of inode: Int64) -> String {
        "\(path)/\(StateFiles.content(of: InodeNumber(rawValue: inode)))"
    }

    /// Returns the space on the disk of content files.
    func allocatedBytes(of inodes: [Int64]) throws -> UInt64 {
        let disk = try PosixDisk(directory: path, isReadOnly: true)
        return try inodes.reduce(0) { sum, inode in
            let file = try disk.open(StateFiles.content(of: InodeNumber(rawValue: inode)))
            return sum + (try file.status().allocatedBytes)
        }
    }

    /// All files with their bytes but SQLite's own index of its log.
    func snapshot() throws -> [String: Data] {
        var files: [String: Data] = [:]
        let paths = FileManager.default.enumerator(atPath: path)
        while let name = paths?.nextObject() as? String {
            guard paths?.fileAttributes?[.type] as? FileAttributeType == .typeRegular,
                !name.hasSuffix("-shm"), !name.hasSuffix("-wal")
            else { continue }
            files[name] = try Data(contentsOf: URL(filePath: "\(path)/\(name)"))
        }
        return files
    }

    /// Returns the files in `lost+found`, by name.
    func lostAndFound() throws -> [String: String] {
        var found: [String: String] = [:]
        for (name, bytes) in try snapshot() where name.hasPrefix("lost+found/") {
            found[String(name.dropFirst(11))] = String(decoding: bytes, as: UTF8.self)
        }
        return found
    }

    /// Puts a file into the state directory.
    func put(_ text: String, at name: String) throws {
        let url = URL(filePath: "\(path)/\(name)")
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    // MARK: Checks

    func check(isDryRun: Bool = false) throws -> CheckReport {
        let store =
            isDryRun ? try StateDatabase.copy(ofFileAt: database) : try Store(path: database)
        defer { store.close() }
        return try StateCheck(
            store: store, disk: try PosixDisk(directory: path, isReadOnly: isDryRun),
            now: Timestamp(seconds: 1_000), owner: .test, isDryRun: isDryRun
        ).run()
    }

    /// Opens the state as a mount does, and reads everything that is here.
    ///
    /// - Returns: The paths, with the bytes of whole files.
    func mountAndRead() throws -> [String: String?] {
        let store = try Store(path: database)
        defer { store.close() }
        let engine = try engine(store)
        try store.write { try $0.execute(sql: "UPDATE inodes SET listed = 1 WHERE kind = 1") }
        return try read(.root, "", engine)
    }

    private func read(
        _ directory: InodeNumber, _ path: String, _ engine: Engine
    ) throws -> [String: String?] {
        var tree: [String: String?] = [:]
        for entry in try engine.entries(of: directory, after: 0, limit: 100) {
            let path = path + "/\(entry.name)"
            switch entry.attributes.kind {
            case .directory:
                tree[path] = .some(nil)
                tree.merge(try read(entry.attributes.inode, path, engine)) { $1 }
            case .symlink:
                let target = try engine.symbolicLink(entry.attributes.inode).target
                tree[path] = String(decoding: target, as: UTF8.self)
            case .file:
                tree[path] = .some(try? bytes(of: entry.attributes, engine))
            }
        }
        return tree
    }

    private func bytes(of file: Attributes, _ engine: Engine) throws -> String {
        let range = try engine.read(file.inode, at: 0, length: Int(file.size))
        var bytes = [UInt8](repeating: 0, count: range.count)
        let count = try bytes.withUnsafeMutableBytes { try range.file.read(into: $0, at: 0) }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}

extension Caller {
    static let test = Caller(userID: 1_000, groupID: 1_000)
}
