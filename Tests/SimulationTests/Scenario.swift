import Simulation

@testable import Engine

/// A scripted scenario: a mount, the remote, another client, and time.
struct Scenario: Sendable {
    let mount: SimulatedMount

    var engine: Engine { mount.engine }
    var remote: SimulatedProvider { mount.provider }

    /// - Parameter body: Runs with the process started.
    static func run(
        seed: UInt64 = 1, settings: SimulatedMountSettings = SimulatedMountSettings(),
        logLines: Int = 0, before: (SimulatedProvider) throws -> Void = { _ in },
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        let mount = try SimulatedMount(seed: seed, settings: settings, logLines: logLines)
        try before(mount.provider)
        try mount.run {
            try mount.start()
            try await body(Scenario(mount: mount))
        }
    }

    // MARK: Here

    func find(_ path: String) async throws -> InodeNumber { try await engine.resolve(path) }

    func names(in path: String) async throws -> [String] {
        let directory = try await find(path)
        return try await engine.retrying { () throws(Blocked) in
            try engine.refreshes.requireFirstLook(at: directory)
            return try engine.entries(of: directory, after: 0, limit: .max)
        }.map(\.name.description).sorted()
    }

    func write(_ path: String, _ bytes: [UInt8]) async throws {
        let (parent, name) = try await place(path)
        let inode: InodeNumber
        if let found = try? await find(path) {
            inode = found
            try await engine.retrying { () throws(Blocked) in
                try engine.open(inode, access: .write, truncating: true)
            }
        } else {
            inode = try await engine.retrying { () throws(Blocked) in
                try engine.createFile(
                    name, in: parent, mode: 0o644, caller: Caller(userID: 0, groupID: 0))
            }.inode
        }
        defer { engine.release(inode, access: .write) }
        try await write(bytes, at: 0, of: inode)
    }

    /// Opens a file for writing, and leaves it open.
    func open(_ inode: InodeNumber) async throws {
        try await engine.retrying { () throws(Blocked) in
            try engine.open(inode, access: .write, truncating: false)
        }
    }

    func write(_ bytes: [UInt8], at offset: UInt64, of inode: InodeNumber) async throws {
        try await engine.retrying { () throws(Blocked) in
            try Self.write(bytes, at: offset, engine, inode)
        }
    }

    func read(_ path: String) async throws -> [UInt8] {
        let inode = try await find(path)
        try await engine.retrying { () throws(Blocked) in
            try engine.open(inode, access: .read, truncating: false)
        }
        defer { engine.release(inode, access: .read) }
        let size = try await engine.retrying { () throws(Blocked) in
            try engine.attributes(of: inode)
        }.size
        let range = try await engine.retrying { () throws(Blocked) in
            try engine.read(inode, at: 0, length: Int(size))
        }
        return try [UInt8](unsafeUninitializedCapacity: range.count) { buffer, filled in
            filled = try range.file.read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
        }
    }

    private static func write(
        _ bytes: [UInt8], at offset: UInt64, _ engine: Engine, _ inode: InodeNumber
    ) throws(Blocked) {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(Blocked) in try engine.write(inode, buffer, at: offset) }
        }
        try result.get()
    }

    func makeDirectory(_ path: String) async throws {
        let (parent, name) = try await place(path)
        _ = try await engine.retrying { () throws(Blocked) in
            try engine.createDirectory(
                name, in: parent, mode: 0o755, caller: Caller(userID: 0, groupID: 0))
        }
    }

    @discardableResult
    func makeSymlink(_ path: String, to target: String = "to") async throws -> InodeNumber {
        let (parent, name) = try await place(path)
        return try await engine.retrying { () throws(Blocked) in
            try engine.createSymlink(
                name, in: parent, target: Array(target.utf8),
                caller: Caller(userID: 0, groupID: 0))
        }.inode
    }

    func unlink(_ path: String) async throws {
        let (parent, name) = try await place(path)
        try await engine.retrying { () throws(Blocked) in try engine.unlink(name, in: parent) }
    }

    func removeDirectory(_ path: String) async throws {
        let (parent, name) = try await place(path)
        try await engine.retrying { () throws(Blocked) in
            try engine.removeDirectory(name, in: parent)
        }
    }

    func rename(_ path: String, to newPath: String) async throws {
        let (parent, name) = try await place(path)
        let (newParent, newName) = try await place(newPath)
        try await engine.retrying { () throws(Blocked) in
            try engine.rename(name, in: parent, to: newName, in: newParent, mode: .replace)
        }
    }

    /// Waits until the engine has found that the remote is back.
    func awaitReach() async throws {
        for _ in 0..<50 where engine.outage != nil { try await wait(.milliseconds(100)) }
    }

    /// Lists a directory on the remote like a refresh.
    func refresh(_ path: String = "") async throws {
        try await awaitReach()
        try await engine.remote.lister.list(try await find(path))
    }

    private func place(_ path: String) async throws -> (InodeNumber, FileName) {
        let key = Self.key(path)
        guard let name = key.names.last, let parent = key.parent else {
            throw ProgramFailure("\"\(path)\" names nothing")
        }
        return (try await find(parent.description), name)
    }

    // MARK: Time

    func wait(_ duration: Duration) async throws {
        try await mount.clock.sleep(until: mount.clock.uptime + duration)
    }

    /// Waits until nothing is pending.
    ///
    /// - Returns: Whether that came.
    func rest(within bound: Duration = .seconds(600)) async throws -> Bool {
        try await mount.waitForRest(within: bound)
    }

    func status() throws -> EngineStatus { try engine.status(below: .root, limit: 1_000) }

    // MARK: There

    static func key(_ path: String) -> ObjectKey {
        ObjectKey(path.split(separator: "/").compactMap { FileName(Array($0.utf8)) })
    }

    func remoteBytes(_ path: String) -> [UInt8]? {
        guard case .file(let bytes) = remote.snapshot()[Self.key(path)] else { return nil }
        return bytes
    }

    var remotePaths: [String] { remote.snapshot().keys.map(\.description).sorted() }
}
