import Foundation
import Glibc
import Testing

/// A cloud of a test's own, empty at first.
struct Cloud {
    /// How to mount it: any number of times, each with a state of its own.
    let options: MountedFolder.Options
    /// Returns all its contents as the cloud itself sees them, except for links.
    var contents: () throws -> TreeContents
    /// Stores a file as another client does, and replaces an existing one.
    var store: (_ bytes: [UInt8], _ path: String) throws -> Void
}

/// The kinds of sources, as a parameter of tests that each of them has to pass.
///
/// The environment's `CLOUDS` names those that run, with commas between them; all by default.
enum CloudKind: String, CaseIterable, CustomTestStringConvertible, Sendable {
    case folder, webdav, s3, rclone
    /// A remote of rclone that encrypts names and contents.
    case crypt
    /// A remote of rclone that is a WebDAV server.
    case rcloneWebDAV
    /// WebDAV servers that keep less than Apache.
    case nginx, servedByRclone

    static let chosen: [CloudKind] = {
        let kinds = allCases.filter { $0 != .nginx || WebDAVServer.hasNginx }
        guard let names = ProcessInfo.processInfo.environment["CLOUDS"] else { return kinds }
        return names.split(separator: ",").compactMap { CloudKind(rawValue: String($0)) }
    }()

    var testDescription: String { rawValue }

    /// The metadata, beyond names and bytes, that a cold mount shows again.
    enum Kept {
        /// Modes, links and the times of everything.
        case attributes
        /// The times of files.
        case times
        case nothing
    }

    var keeps: Kept {
        switch self {
        case .folder, .webdav, .s3: .attributes
        case .rclone, .crypt: .times
        case .nginx, .servedByRclone, .rcloneWebDAV: .nothing
        }
    }

    /// Makes one of this kind, and ends it after `body` whatever happens.
    ///
    /// - Parameter options: How to mount it. Latency and rate apply to the folder only.
    func with(
        _ options: MountedFolder.Options, isolation: isolated (any Actor)? = #isolation,
        _ body: (Cloud) throws -> Void
    ) async throws {
        switch self {
        case .folder:
            let base = try Files.makeTemporaryDirectory("c")
            defer { try? FileManager.default.removeItem(atPath: base) }
            let query = options.source.isEmpty ? "" : "?\(options.source)"
            try body(Self.cloud(options, source: "folder:\(base)\(query)", servedFrom: base))
        case .webdav, .nginx, .servedByRclone:
            let kind: WebDAVServer.Kind =
                self == .nginx ? .nginx : self == .servedByRclone ? .rclone : .apache
            try await WebDAVServer.with(kind) { server in
                var cloud = Self.cloud(options, source: server.source, servedFrom: server.folder)
                // It caches its folder for minutes, and sees only changes made through it.
                if kind == .rclone { cloud.store = server.put }
                try body(cloud)
            }
        case .s3:
            try await ObjectStore.with(.seaweedFS) { store in
                try body(Self.cloud(options, store))
            }
        case .rclone, .crypt:
            let remotes = try RcloneRemotes()
            defer { remotes.remove() }
            let options = Self.finding(remotes, options)
            guard self == .crypt else {
                var cloud = Self.cloud(
                    options, source: "rclone:plain:", servedFrom: "\(remotes.base)/plain")
                let everything = cloud.contents
                cloud.contents = {
                    // The rest of an upload that a killed rclone leaves is hidden.
                    var contents = try everything()
                    contents.nodes = contents.nodes.filter { !$0.key.hasSuffix(".apus-part") }
                    return contents
                }
                return try body(cloud)
            }
            try body(Self.cloud(options, remotes))
        case .rcloneWebDAV:
            try await WebDAVServer.with(.apache) { server in
                let remotes = try RcloneRemotes()
                defer { remotes.remove() }
                var options = Self.finding(remotes, options)
                options.environment["RCLONE_CONFIG_DAV_TYPE"] = "webdav"
                options.environment["RCLONE_CONFIG_DAV_URL"] = server.url
                options.environment["RCLONE_CONFIG_DAV_VENDOR"] = "other"
                try body(
                    Self.cloud(options, source: "rclone:dav:", servedFrom: server.folder))
            }
        }
    }

    /// With our rclone and its remotes.
    private static func finding(
        _ remotes: RcloneRemotes, _ options: MountedFolder.Options
    ) -> MountedFolder.Options {
        var options = options
        options.environment.merge(
            remotes.environment.filter { ["PATH", "RCLONE_CONFIG"].contains($0.key) }
        ) { $1 }
        return options
    }

    /// The same, and mounts it.
    ///
    /// - Parameter body: Is given the mount, and a function that returns the cloud's contents.
    func with(
        _ options: MountedFolder.Options, isolation: isolated (any Actor)? = #isolation,
        _ body: (MountedFolder, _ contents: () throws -> TreeContents) throws -> Void
    ) async throws {
        try await with(options) { cloud in
            try MountedFolder.with(cloud.options) { try body($0, cloud.contents) }
        }
    }

    // MARK: Kinds

    /// One whose files lie in a directory as they are.
    private static func cloud(
        _ options: MountedFolder.Options, source: String, servedFrom directory: String
    ) -> Cloud {
        Cloud(
            options: mounting(source, options),
            // Apache's files for properties are not part of the contents that it serves.
            contents: { try TreeContents(of: directory, without: ".DAV") },
            store: { bytes, path in try Files.replace("\(directory)/\(path)", with: bytes) })
    }

    private static func cloud(_ options: MountedFolder.Options, _ store: ObjectStore) -> Cloud {
        var options = mounting(store.source("p"), options)
        options.environment.merge(store.environment) { $1 }
        return Cloud(
            options: options,
            contents: { try TreeContents(of: store, below: "p/") },
            store: { bytes, path in
                try store.python(
                    """
                    import base64
                    s3.put_object(
                        Bucket=bucket, Key='p/' + arguments[0], Body=base64.b64decode(arguments[1]))
                    """, path, Data(bytes).base64EncodedString())
            })
    }

    private static func cloud(_ options: MountedFolder.Options, _ remotes: RcloneRemotes) -> Cloud {
        let plain = "\(remotes.base)/decrypted"
        func rclone(_ arguments: String...) throws {
            let command = ["rclone"] + arguments
            let result = try Program.start(command, environment: remotes.environment).wait()
            try #require(result.status == 0, Comment(rawValue: result.description))
        }
        return Cloud(
            options: mounting("rclone:crypt:", options),
            contents: {
                try rclone("sync", "--create-empty-src-dirs", "crypt:", plain)
                return try TreeContents(of: plain)
            },
            store: { bytes, path in
                let file = "\(remotes.base)/stored"
                try Files.write(bytes, to: file)
                try rclone("copyto", file, "crypt:\(path)")
            })
    }

    private static func mounting(
        _ source: String, _ options: MountedFolder.Options
    ) -> MountedFolder.Options {
        var options = options
        options.source = ""
        options.otherSource = source
        return options
    }
}
