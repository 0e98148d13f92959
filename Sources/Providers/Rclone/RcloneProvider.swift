import Engine
import Foundation
import Logging

/// One of the clouds that rclone knows, through an rclone of our own.
///
/// Few of them have conditional writes, and rclone asks for none. So what a key holds is looked at
/// right before and right after each change; between the first look and the change, another client
/// can come in unseen. Changes through one provider exclude each other.
struct RcloneProvider: Provider {
    let traits: ProviderTraits
    let client: RcloneClient
    /// `NAME:PATH`.
    let fileSystem: String
    let features: RcloneFileSystem.Features
    let cheapHash: String?
    let locks = KeyLocks()
    let keptCharacters = RcloneKeptCharacters()
    let spool: RcloneSpool
    private let logger: Logger

    /// A larger file is uploaded under a hidden name, looked at again, and then renamed: that keeps
    /// the time short in which a change by others goes unseen. A smaller one is there so soon that
    /// this would only cost.
    static let stagedBytesMin: UInt64 = 8 << 20
    /// How long rclone may take until it listens.
    private static let startMax: Duration = .seconds(30)

    /// Starts rclone and opens the remote.
    static func connect(
        _ fileSystem: String, world: SourceWorld,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) async throws(SourceError) -> RcloneProvider {
        let program = try RcloneProgram.find(in: environment)
        let directory: RcloneDirectory
        let pool: BlockingPool
        do {
            directory = try RcloneDirectory(in: environment["TMPDIR"] ?? "/var/tmp")
            pool = try BlockingPool(name: "apus-spool", threads: 2)
        } catch {
            throw SourceError(
                .unavailable, "cannot prepare for rclone: \(error)",
                remedy: "set TMPDIR to a directory with room", cause: error)
        }
        let daemon = RcloneDaemon(program, directory: directory, logger: world.logger)
        world.atEnd { daemon.end() }
        let client = RcloneClient(daemon: daemon, transport: world.transport, clock: world.clock)
        try await awaitStart(of: client)
        return try await open(
            fileSystem, client, spool: RcloneSpool(directory: directory, pool: pool),
            logger: world.logger)
    }

    /// Opens a remote with an rclone that runs already.
    static func open(
        _ fileSystem: String, _ client: RcloneClient, spool: RcloneSpool, logger: Logger
    ) async throws(SourceError) -> RcloneProvider {
        RcloneProvider(
            fileSystem: fileSystem, client: client,
            opened: try await look(into: fileSystem, client),
            spool: spool, logger: logger)
    }

    private init(
        fileSystem: String, client: RcloneClient, opened: RcloneFileSystem, spool: RcloneSpool,
        logger: Logger
    ) {
        self.fileSystem = fileSystem
        self.client = client
        self.spool = spool
        self.logger = logger
        features = opened.features
        cheapHash = opened.cheapHash
        let remote = fileSystem.prefix { $0 != ":" }
        traits = ProviderTraits(
            name: "rclone's \(remote)", keepsMode: false, keepsSymlinks: false,
            modifiedResolution: opened.modifiedResolution, transfersMax: 8,
            movesDirectoriesAtOnce: opened.features.movesDirectories,
            storesAttributesAtOnce: false)
    }

    private static func awaitStart(of client: RcloneClient) async throws(SourceError) {
        let clock = client.clock
        let due = clock.uptime + startMax
        while true {
            if let found = try? await version(client) {
                guard found < .oldest else { return }
                throw SourceError(
                    .unavailable, "rclone \(found) is too old",
                    remedy: "install \(RcloneVersion.oldest) or later, see \(RcloneProgram.home)")
            }
            // It has ended, or does not listen yet.
            let words = client.daemon.lastWords
            guard words == nil, clock.uptime < due else {
                throw SourceError(
                    .unavailable, "rclone does not start: \(words ?? "it does not listen")",
                    remedy: "try `rclone version`; \(RcloneVersion.oldest) or later is needed")
            }
            do {
                try await clock.sleep(until: clock.uptime + .milliseconds(10))
            } catch {
                throw SourceError(
                    .unavailable, "the start of rclone was cancelled", remedy: "try again")
            }
        }
    }

    private static func version(
        _ client: RcloneClient
    ) async throws(ProviderError) -> RcloneVersion {
        let found: RcloneCoreVersion = try await client.call(
            "core/version", RcloneInput(), attempt: "start rclone")
        return RcloneVersion(numbers: found.decomposed)
    }

    private static func look(
        into fileSystem: String, _ client: RcloneClient
    ) async throws(SourceError) -> RcloneFileSystem {
        var input = RcloneInput()
        input.fs = fileSystem
        do throws(ProviderError) {
            let opened: RcloneFileSystem = try await client.call(
                "operations/fsinfo", input, attempt: "open \"\(fileSystem)\"")
            // Some open whatever is named, and only a listing shows that it is not there.
            input.remote = ""
            input.opt = RcloneInput.Options()
            let _: RcloneList = try await client.call(
                "operations/list", input, attempt: "list \"\(fileSystem)\"")
            return opened
        } catch {
            throw SourceError(
                .unavailable, "cannot \(error.attempt): \(error.reason)",
                remedy: "try `rclone lsf \"\(fileSystem)\"`", cause: error)
        }
    }

    // MARK: Looking

    func stat(_ key: ObjectKey) async throws(ProviderError) -> RemoteObject {
        let attempt = "look at \"\(key)\""
        guard let found = try await look(at: key, attempt) else {
            throw ProviderError(.missing, attempt: attempt, reason: "nothing is there")
        }
        return found
    }

    /// What a key holds; nil where that is nothing.
    func look(at key: ObjectKey, _ attempt: String) async throws(ProviderError) -> RemoteObject? {
        guard let path = path(of: key) else { return nil }
        var input = lookInput
        input.remote = path
        let answer: RcloneStat
        do {
            answer = try await client.call("operations/stat", input, attempt: attempt)
        } catch {
            // As below a file, or below a directory that is missing.
            guard [.missing, .wrongKind].contains(error.kind) else { throw error }
            return nil
        }
        guard let item = answer.item, let name = key.names.last ?? FileName("root") else {
            return nil
        }
        guard let object = meaning.object(item, name: name) else {
            throw ProviderError(
                .unsupported, attempt: attempt,
                reason: "\(traits.name) does not tell the size of \"\(key)\"",
                remedy: "use another name, or a setting of the remote that has it tell sizes; "
                    + "what it has is left alone")
        }
        return object
    }

    func list(
        _ directory: ObjectKey, page: PageToken?
    ) async throws(ProviderError) -> ListingPage {
        let attempt = "list \"\(directory)\""
        guard let path = path(of: directory) else {
            throw ProviderError(.missing, attempt: attempt, reason: "it cannot be there")
        }
        var input = lookInput
        input.remote = path
        let answer: RcloneList
        do {
            answer = try await client.call("operations/list", input, attempt: attempt)
        } catch {
            guard [.missing, .wrongKind].contains(error.kind) else { throw error }
            // Each remote has its own words for a file that was asked to be a directory.
            let isFile = try await look(at: directory, attempt)?.kind == .file
            throw ProviderError(
                isFile ? .wrongKind : .missing, attempt: attempt, reason: error.reason)
        }
        let items = answer.list ?? []
        if items.isEmpty, !features.keepsEmptyDirectories, !directory.names.isEmpty {
            // Where directories are but parts of names, any name can be listed.
            let kind = try await look(at: directory, attempt)?.kind
            guard kind == .directory else {
                throw ProviderError(
                    kind == nil ? .missing : .wrongKind, attempt: attempt,
                    reason: "it is no directory")
            }
        }
        let unsized = meaning.unsizedNames(in: items)
        if let name = unsized.min() {
            logger.warning(
                "files are not shown: the remote does not tell their size",
                metadata: [
                    "directory": "\(directory)", "count": "\(unsized.count)", "first": "\(name)",
                ])
        }
        return ListingPage(objects: meaning.objects(in: items), next: nil)
    }

    func space() async throws(ProviderError) -> StorageSpace? {
        guard features.tellsSpace else { return nil }
        var input = RcloneInput()
        input.fs = fileSystem
        let about: RcloneAbout = try await client.call(
            "operations/about", input, attempt: "ask for the space")
        return RcloneMeaning.space(about)
    }

    func publicLink(to key: ObjectKey) async throws(ProviderError) -> String {
        let attempt = "make a link to \"\(key)\""
        guard features.makesPublicLinks else {
            throw ProviderError(
                .unsupported, attempt: attempt, reason: "\(traits.name) has no public links",
                remedy: "share it on the cloud's own page, if it has one")
        }
        guard let path = path(of: key) else {
            throw ProviderError(.missing, attempt: attempt, reason: "it cannot be there")
        }
        var input = RcloneInput()
        input.fs = fileSystem
        input.remote = path
        let answer: RclonePublicLink = try await client.call(
            "operations/publiclink", input, attempt: attempt)
        // It is shown on a terminal, and clicked at.
        guard answer.url.hasPrefix("https://") || answer.url.hasPrefix("http://"),
            answer.url.unicodeScalars.allSatisfy({ (0x21...0x7E).contains($0.value) })
        else {
            throw ProviderError(
                .corrupt, attempt: attempt, reason: "what rclone calls a link is none")
        }
        return answer.url
    }

    // MARK: Names

    /// A key as rclone has it; nil for what it cannot have, or only we have.
    func path(of key: ObjectKey) -> String? {
        var names: [String] = []
        for name in key.names {
            guard let text = RcloneName.encode(name) else { return nil }
            names.append(text)
        }
        return names.joined(separator: "/")
    }

    /// - Throws: `.unsupported` for a name that cannot be stored.
    func newPath(_ key: ObjectKey, _ attempt: String) throws(ProviderError) -> String {
        guard let path = path(of: key) else {
            throw ProviderError(
                .unsupported, attempt: attempt, reason: "rclone cannot store this name",
                remedy: "rename it, then it is sent")
        }
        return path
    }

    // MARK: Objects

    private var meaning: RcloneMeaning {
        RcloneMeaning(
            keepsEmptyDirectories: features.keepsEmptyDirectories, cheapHash: cheapHash)
    }

    private var lookInput: RcloneInput {
        var input = RcloneInput()
        input.fs = fileSystem
        input.opt = RcloneInput.Options(
            showHash: cheapHash.map { _ in true }, hashTypes: cheapHash.map { [$0] })
        return input
    }

    /// The hash in an etag of ours, if there is one.
    static func hash(of etag: ETag) -> Substring? {
        let last = etag.description.split(separator: "-", omittingEmptySubsequences: false).last
        return last.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The size in an etag of ours.
    static func size(of etag: ETag) -> UInt64? {
        etag.description.split(separator: "-").first.flatMap { UInt64($0) }
    }
}
