import Foundation
import Testing

/// The kinds of sources, as a parameter of tests that each of them has to pass.
///
/// All of them by default; the environment's `CLOUDS` names fewer, with commas between them.
enum CloudKind: String, CaseIterable, CustomTestStringConvertible, Sendable {
    case folder, webdav, s3, rclone

    static let chosen: [CloudKind] = {
        guard let names = ProcessInfo.processInfo.environment["CLOUDS"] else { return allCases }
        return names.split(separator: ",").compactMap { CloudKind(rawValue: String($0)) }
    }()

    var testDescription: String { rawValue }

    /// Mounts one of this kind, empty, and ends it after `body` whatever happens.
    ///
    /// - Parameters:
    ///   - options: How to mount; how far away it pretends to be counts for those that can pretend.
    ///   - body: Is given the mount, and what tells all that the cloud holds, seen from its own side.
    func with(
        _ options: MountedFolder.Options, isolation: isolated (any Actor)? = #isolation,
        _ body: (MountedFolder, _ contents: () throws -> TreeContents) throws -> Void
    ) async throws {
        switch self {
        case .folder:
            try MountedFolder.with(options) { folder in
                try body(folder) { try TreeContents(of: folder.remote) }
            }
        case .webdav:
            try await WebDAVServer.with(.apache) { server in
                var options = options
                options.source = ""
                options.otherSource = server.source
                try MountedFolder.with(options) { folder in
                    // What Apache notes of properties is no part of what it serves.
                    try body(folder) { try TreeContents(of: server.folder, without: ".DAV") }
                }
            }
        case .s3:
            try await ObjectStore.with(.seaweedFS) { store in
                try Self.withEnvironment(store.environment) {
                    var options = options
                    options.source = ""
                    options.otherSource = store.source("p")
                    try MountedFolder.with(options) { folder in
                        try body(folder) { try TreeContents(of: store, below: "p/") }
                    }
                }
            }
        case .rclone:
            let remotes = try RcloneRemotes()
            defer { remotes.remove() }
            let needed = remotes.environment.filter { ["PATH", "RCLONE_CONFIG"].contains($0.key) }
            try Self.withEnvironment(needed) {
                var options = options
                options.source = ""
                options.otherSource = "rclone:plain:"
                try MountedFolder.with(options) { folder in
                    try body(folder) { try TreeContents(of: "\(remotes.base)/plain") }
                }
            }
        }
    }

    /// Daemons that `body` starts have our environment.
    private static func withEnvironment(
        _ environment: [String: String], _ body: () throws -> Void
    ) throws {
        let before = ProcessInfo.processInfo.environment
        for (name, value) in environment { setenv(name, value, 1) }
        defer {
            for name in environment.keys {
                if let value = before[name] { setenv(name, value, 1) } else { unsetenv(name) }
            }
        }
        try body()
    }
}
