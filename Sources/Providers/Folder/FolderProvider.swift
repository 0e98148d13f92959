import CLinux
package import Engine
import Glibc
import ProviderSupport
import Synchronization
import SystemCalls

/// A directory of this machine that serves as the cloud: a disk, a USB stick, an NFS mount.
///
/// Modes, times and extended attributes are kept, owners are not. Every file appears in one step, by a
/// rename, and is durable when the call returns. No path leads out of the tree: each part is opened
/// separately, without following symbolic links, and file systems mounted below are not entered unless
/// that is asked for. Read-only calls can be cancelled at any moment, even
/// on a file system that hangs; calls that make changes finish the current step.
///
/// A file system cannot provide two guarantees. If a program writes to a file in place and keeps its
/// size within one tick of the clock, the new version looks like the old one. And on a file system
/// that cannot exchange two names (`RENAME_EXCHANGE`; NFS, exFAT), a change that another program
/// makes between the check of the version and the rename, which are microseconds apart, is lost.
package struct FolderProvider: Provider {
    package internal(set) var traits: ProviderTraits
    let root: FolderRoot
    let options: FolderOptions
    /// For ``FolderOptions/identity`` of later mounts.
    package let identity: String
    let feed: FolderFeed
    private let pools: FolderPools

    /// Opens a directory as a cloud.
    ///
    /// - Parameter path: Absolute, in the bytes of the file system.
    /// - Throws: `.missing`, `.wrongKind`, `.denied`, `.unreachable`; the reason names the remedy. A folder
    ///   with a known identity is unreachable while there is none, or an empty one with another identity.
    package static func connect(
        path: [UInt8], options: FolderOptions = FolderOptions()
    ) async throws(ProviderError) -> FolderProvider {
        let pools: FolderPools
        do {
            pools = try FolderPools(threads: options.threads)
        } catch {
            throw ProviderError(.busy, "no thread: \(error)")
        }
        let opened = await pools.looks.run(onCancel: .abandon) { () throws(ProviderError) in
            try open(path, options)
        }
        guard let opened else { throw ProviderError(.cancelled, "cancelled") }
        return FolderProvider(
            try opened.mapError { explained($0, options) }.get(), options: options, pools: pools)
    }

    private struct Opened {
        let root: FolderRoot
        let fileSystem: FolderFileSystem
        let identity: String
    }

    private static func open(
        _ path: [UInt8], _ options: FolderOptions
    ) throws(ProviderError) -> Opened {
        let root = try FolderRoot(path: path, entersMounts: options.entersMounts)
        let directory = try root.open()
        let identity = FolderIdentity(of: try directory.status(), on: directory.fileSystem)
            .description
        if let known = options.identity, known != identity, try directory.isEmpty() {
            throw ProviderError(
                .unreachable,
                "it is empty, and not the one that was mounted before: mount its disk there, or, if it "
                    + "is the right one, put a file into it")
        }
        return Opened(
            root: root, fileSystem: FolderFileSystem(holding: directory), identity: identity)
    }

    private init(_ opened: Opened, options: FolderOptions, pools: FolderPools) {
        root = opened.root
        identity = opened.identity
        self.pools = pools
        self.options = options
        let fileSystem = opened.fileSystem
        feed = FolderFeed(root: root)
        traits = ProviderTraits(
            name: "folder", keepsMode: fileSystem.keepsMode,
            keepsSymlinks: fileSystem.keepsSymlinks,
            modifiedResolution: fileSystem.modifiedResolution, transfersMax: options.threads,
            keepsVersionsInMoves: true, recognisesWrites: fileSystem.keepsInodeNumbers,
            announcesWrites: fileSystem.keepsInodeNumbers,
            extendedAttributes: fileSystem.extendedAttributes, names: fileSystem.names)
    }

    /// Adds the remedy to the failure of opening the folder.
    private static func explained(
        _ failure: ProviderError, _ options: FolderOptions
    ) -> ProviderError {
        let remedy: String
        var kind = failure.kind
        switch failure.kind {
        case .missing:
            if options.identity != nil { kind = .unreachable }
            remedy = "it does not exist: create it, or mount the disk that holds it"
        case .wrongKind: remedy = "it is not a directory: name a directory"
        case .denied:
            remedy = "it may not be read: permit this user to read it, or mount as another user"
        default: remedy = failure.reason
        }
        return ProviderError(kind, remedy, cause: failure)
    }

    /// Runs a step on the threads of its kind.
    ///
    /// If an object seems to be missing because the folder itself is gone, the step fails as
    /// unreachable.
    func perform<Value: Sendable>(
        onCancel: BlockingPool.OnCancel,
        _ step: @escaping @Sendable () throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        let root = root
        let pool = onCancel == .abandon ? pools.looks : pools.changes
        let result = await pool.run(onCancel: onCancel) { () throws(ProviderError) in
            do throws(ProviderError) {
                return try step()
            } catch {
                if error.kind == .missing { _ = try root.open() }
                throw error
            }
        }
        guard let result else { throw ProviderError(.cancelled, "cancelled") }
        return try result.get()
    }

    package func publicLink(to key: ObjectKey) async throws(ProviderError) -> String {
        throw ProviderError(
            .unsupported, "a folder on this machine cannot be shared by a link",
            remedy: "copy it to a mount of a cloud with links, such as Google Drive through rclone")
    }

    package func space() async throws(ProviderError) -> StorageSpace? {
        try await perform(onCancel: .abandon) { () throws(ProviderError) in
            let directory = try root.open().readable()
            var status = statvfs()
            try ProviderError.check("statvfs", fstatvfs(directory.rawValue, &status))
            let unit = UInt64(status.f_frsize)
            return StorageSpace(
                totalBytes: UInt64(status.f_blocks) * unit,
                freeBytes: UInt64(status.f_bfree) * unit,
                availableBytes: UInt64(status.f_bavail) * unit)
        }
    }

    /// Its threads have nothing else to do: all others may wait for a slow disk.
    package func probe() async throws(ProviderError) {
        guard let place = pools.placeForProbe() else {
            throw ProviderError(.unreachable, "the folder does not answer")
        }
        let root = root
        let result = await pools.probes.run(onCancel: .abandon) { () throws(ProviderError) in
            defer { withExtendedLifetime(place) {} }
            _ = try root.open()
        }
        guard let result else { throw ProviderError(.cancelled, "cancelled") }
        try result.get()
    }

    package func stat(_ key: ObjectKey) async throws(ProviderError) -> RemoteObject {
        try await perform(onCancel: .abandon) { () throws(ProviderError) in
            guard let parent = key.parent, let name = key.names.last else {
                return try rootObject()
            }
            if FolderName.isReserved(name) { throw ProviderError(.missing, "the name is reserved") }
            return try root.directory(parent).object(name)
        }
    }

    package func hasSameBytes(_ former: ETag, as etag: ETag) -> Bool {
        FolderStatus.isSameExceptTime(former.description, etag.description)
    }

    /// Returns the root as an object, named `root` since it has no name in its own tree.
    func rootObject() throws(ProviderError) -> RemoteObject {
        guard let name = FileName("root") else { preconditionFailure("`root` is a file name") }
        let status = try root.open().status()
        return RemoteObject(
            name: name, kind: .directory, etag: nil, size: 0, modified: status.modified,
            mode: status.permissions)
    }
}

/// Options of a ``FolderProvider``, for tests and for unusual file systems.
package struct FolderOptions: Sendable {
    /// Entries read for one page.
    package var pageEntries = 1_000
    /// Bytes that are copied between two checks of the task's cancellation.
    package var pieceBytes = 1 << 20
    /// Whether file systems that are mounted below the folder belong to it.
    package var entersMounts = false
    /// ``FolderProvider/identity`` at an earlier mount.
    package var identity: String?
    /// Whether changes are reported, if the file system can.
    package var reportsChanges = true
    /// Threads, and so concurrent calls, for reading and for making changes each.
    package var threads = 8

    package init() {}
}

/// The threads of a ``FolderProvider``, by kind: none waits for those of another one.
final class FolderPools: Sendable {
    let looks: BlockingPool
    /// Each of these may wait for an `fsync`.
    let changes: BlockingPool
    let probes: BlockingPool
    private let places = ProbePlaces()
    /// A quick probe beside a patient one.
    private static let probesMax = 2

    /// - Throws: If the system refuses a thread.
    init(threads: Int) throws(SystemError) {
        looks = try BlockingPool(name: "folder", threads: threads)
        changes = try BlockingPool(name: "folder-change", threads: threads)
        probes = try BlockingPool(name: "folder-probe", threads: Self.probesMax)
    }

    /// Reserves a thread for a probe, until the last reference to the result is gone.
    ///
    /// - Returns: nil if no thread is free: probes before, perhaps abandoned, were not answered.
    func placeForProbe() -> (any Sendable)? {
        places.take(atMost: Self.probesMax)
    }
}

private final class ProbePlaces: Sendable {
    private final class Place: Sendable {
        let places: ProbePlaces

        init(_ places: ProbePlaces) {
            self.places = places
        }

        deinit {
            places.taken.withLock { $0 -= 1 }
        }
    }

    private let taken = Mutex(0)

    func take(atMost count: Int) -> (any Sendable)? {
        let isFree = taken.withLock { taken in
            guard taken < count else { return false }
            taken += 1
            return true
        }
        return isFree ? Place(self) : nil
    }
}
