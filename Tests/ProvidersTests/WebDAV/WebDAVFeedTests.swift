import Engine
import Foundation
import Host
import Logging
import Synchronization
import TestServer
import Testing
import Transport

@testable import ProviderSupport
@testable import ProviderWebDAV

/// Changes by other clients on a server whose etags cover subtrees; the suite of
/// ``ProviderConformance`` has our own changes.
@Suite(.timeLimit(.minutes(2))) struct WebDAVFeedTests {
    private func provider(
        _ server: ScriptedServer, clock: any Clock = SystemClock(),
        checkInterval: Duration = .milliseconds(5)
    ) async throws -> WebDAVProvider {
        var world = ProviderEnvironment(
            clock: clock, transport: HTTPTransport(), logger: Logger(label: "test"))
        world.checkInterval = checkInterval
        return try await WebDAVProvider.connect(
            to: "webdav+http://127.0.0.1:\(server.port)/remote.php/dav/files/me", world: world,
            pageEntries: 10)
    }

    private func key(_ path: String) throws -> ObjectKey {
        ObjectKey(try path.split(separator: "/").map { try #require(FileName(String($0))) })
    }

    /// Follows a directory and lists it, as the engine does.
    @discardableResult
    private func list(
        _ directory: ObjectKey, _ provider: WebDAVProvider
    ) async throws -> (isFollowed: Bool, objects: [RemoteObject]) {
        let isFollowed = try await provider.follow(directory)
        let cursor = provider.entries(of: directory)
        var objects: [RemoteObject] = []
        while true {
            let page = try await cursor.next()
            objects += page.objects
            if page.isLast { return (isFollowed, objects) }
        }
    }

    /// Follows and lists directories, and returns the anchor after a check of them.
    private func begin(
        _ provider: WebDAVProvider, _ paths: String...
    ) async throws -> ChangeAnchor {
        let anchor = try await provider.changes(since: nil).anchor
        for path in paths {
            let isFollowed = try await list(key(path), provider).isFollowed
            #expect(isFollowed, "\(path)")
        }
        return try await quiet(provider, since: anchor).anchor
    }

    /// Passes on reports until a check has found nothing.
    ///
    /// - Returns: The last anchor, and the directories that were reported.
    private func quiet(
        _ provider: WebDAVProvider, since first: ChangeAnchor
    ) async throws -> (anchor: ChangeAnchor, reported: Set<ObjectKey>) {
        var (anchor, reported) = (first, Set<ObjectKey>())
        // A change may come while a check is under way.
        var emptyCount = 0
        while emptyCount < 2 {
            let report = try await provider.changes(since: anchor)
            emptyCount = report.directories.isEmpty ? emptyCount + 1 : 0
            anchor = report.anchor
            reported.formUnion(report.directories)
        }
        return (anchor, reported)
    }

    @Test func `one small request is sent for each check while nothing changes`() async throws {
        let cloud = NextcloudServer()
        for path in ["a", "a/b", "c"] { cloud.makeDirectory(path) }
        try await cloud.serve { server in
            let provider = try await provider(server)
            let anchor = try await begin(provider, "", "a", "a/b", "c")
            let count = server.requests.count
            for _ in 0..<5 {
                let report = try await provider.changes(since: anchor)
                #expect(report == ChangeReport(anchor: anchor))
            }
            let requests = server.requests.dropFirst(count)
            #expect(requests.count == 5)
            #expect(requests.allSatisfy { $0.method == "PROPFIND" && $0["Depth"] == "0" })
            #expect(Set(requests.map(\.target)) == ["/remote.php/dav/files/me/"])
        }
    }

    @Test func `checks come at their interval, and rest for twenty times as long after a long one`()
        async throws
    {
        let cloud = NextcloudServer()
        cloud.makeDirectory("a")
        let clock = ClockAtOnce()
        let times = Mutex<[Duration]>([])
        let takes = Mutex(Duration.zero)
        try await cloud.serve { request in
            guard request["Depth"] == "0" else { return false }
            times.withLock { $0.append(clock.uptime) }
            clock.advance(by: takes.withLock { $0 })
            return false
        } _: { server in
            let provider = try await provider(server, clock: clock, checkInterval: .seconds(30))
            let anchor = try await begin(provider, "a")
            times.withLock { $0 = [] }
            for duration in [Duration.seconds(1), .seconds(2), .zero] {
                takes.withLock { $0 = duration }
                _ = try await provider.changes(since: anchor)
            }
            let seen = times.withLock { $0 }
            try #require(seen.count == 3)
            #expect(seen[1] - seen[0] == .seconds(1 + 30))
            #expect(seen[2] - seen[1] == .seconds(2 + 40))
        }
    }

    @Test func `the number of remembered directories in other storage is bounded`() throws {
        var state = WebDAVFeedState()
        state.hasBegun = true
        let keys = try (0...WebDAVFeedState.foreignMax).map { try key("share \($0)") }
        for key in keys {
            let isFollowed = state.follow(key)
            let hasEnded = state.noteListing(of: key, "tag", isForeign: true)
            #expect(isFollowed && hasEnded)
        }
        let (last, first) = (state.follow(keys[keys.count - 1]), state.follow(keys[0]))
        #expect(!last)
        #expect(first, "all before the last one were forgotten")
    }

    @Test func `nothing is sent while no directory is followed`() async throws {
        let cloud = NextcloudServer()
        cloud.makeDirectory("a")
        try await cloud.serve { server in
            let provider = try await provider(server)
            var anchor = try await begin(provider, "a")
            provider.unfollow(try key("a"))
            anchor = try await quiet(provider, since: anchor).anchor
            let count = server.requests.count
            for _ in 0..<5 { anchor = try await provider.changes(since: anchor).anchor }
            #expect(server.requests.count == count)
        }
    }

    @Test func `only directories above a change are reported, and no others compared`()
        async throws
    {
        let cloud = NextcloudServer()
        for path in ["a", "a/b", "a/d", "c", "c/e"] { cloud.makeDirectory(path) }
        try await cloud.serve { server in
            let provider = try await provider(server)
            let anchor = try await begin(provider, "a", "a/b", "a/d", "c", "c/e")
            let count = server.requests.count
            cloud.put([1], at: "a/b/file")
            let reported = try await quiet(provider, since: anchor).reported
            #expect(reported == [try key("a"), try key("a/b")])
            let listed = server.requests.dropFirst(count).filter { $0["Depth"] == "1" }
            #expect(
                listed.map(\.target) == [
                    "/remote.php/dav/files/me/", "/remote.php/dav/files/me/a/",
                ])
        }
    }

    /// If the root cannot be described, the check fails; a directory that cannot be listed has those
    /// in it reported.
    @Test(arguments: ["0", "1"])
    func `a change is reported although requests fail`(depth: String) async throws {
        let cloud = NextcloudServer()
        for path in ["a", "a/b", "c"] { cloud.makeDirectory(path) }
        let isFailing = Mutex(false)
        try await cloud.serve { request in
            request.method == "PROPFIND" && request["Depth"] == depth && isFailing.withLock { $0 }
        } _: { server in
            let provider = try await provider(server)
            let anchor = try await begin(provider, "a", "a/b", "c")
            cloud.put([1], at: "a/b/file")
            isFailing.withLock { $0 = true }
            if depth == "0" {
                await #expect(throws: ProviderError.self) {
                    // The last check may have ended just before.
                    while true { _ = try await provider.changes(since: anchor) }
                }
                isFailing.withLock { $0 = false }
            }
            let reported = try await quiet(provider, since: anchor).reported
            #expect(try reported.isSuperset(of: [key("a"), key("a/b")]))
            #expect(try reported.contains(key("c")) == (depth == "1"))
        }
    }

    /// Method: the check stands still before the server reads the etags below the root.
    @Test func `a directory that is followed during a check is not missed`() async throws {
        let cloud = NextcloudServer()
        for path in ["a", "a/b", "a/c"] { cloud.makeDirectory(path) }
        let isArmed = Mutex(false)
        let isHeld = Mutex(false)
        let release = DispatchSemaphore(value: 0)
        try await cloud.serve { request in
            guard request["Depth"] == "1", request.target.hasSuffix("/files/me/"),
                isArmed.withLock({ isArmed in
                    defer { isArmed = false }
                    return isArmed
                })
            else { return false }
            isHeld.withLock { $0 = true }
            release.wait()
            return false
        } _: { server in
            let provider = try await provider(server)
            let anchor = try await begin(provider, "a", "a/c")
            isArmed.withLock { $0 = true }
            cloud.put([1], at: "a/c/file")
            async let result = quiet(provider, since: anchor)
            while !isHeld.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
            try await list(key("a/b"), provider)
            cloud.put([1], at: "a/b/file")
            release.signal()
            let reported = try await result.reported
            #expect(try reported.isSuperset(of: [key("a/b"), key("a/c")]))
        }
    }

    /// Directories that changed together have one etag, and keep it when they are moved.
    @Test func `a directory in the place of another one with the same etag is reported`()
        async throws
    {
        let cloud = NextcloudServer()
        for path in ["p", "p/q"] { cloud.makeDirectory(path) }
        cloud.put([1], at: "p/q/file")
        try await cloud.serve { server in
            let provider = try await provider(server)
            let anchor = try await begin(provider, "", "p", "p/q")
            cloud.move("p/q", to: "t")
            cloud.remove("p")
            cloud.move("t", to: "p")
            let reported = try await quiet(provider, since: anchor).reported
            #expect(reported.contains(try key("p")))
        }
    }

    /// The engine looks for a single name so, and does not take over the rest.
    @Test func `a listing without a follow leaves a change to be reported`() async throws {
        let cloud = NextcloudServer()
        cloud.makeDirectory("a")
        try await cloud.serve { server in
            let provider = try await provider(server)
            let anchor = try await begin(provider, "a")
            cloud.put([1], at: "a/file")
            let page = try await provider.entries(of: key("a")).next()
            #expect(page.objects.count == 1)
            let reported = try await quiet(provider, since: anchor).reported
            #expect(reported == [try key("a")])
        }
    }

    @Test(arguments: ["SRGDNVCK", "RMGDNVCK"])
    func `a share and other storage are not followed, nor anything in them`(permissions: String)
        async throws
    {
        let cloud = NextcloudServer()
        cloud.makeDirectory("own")
        cloud.makeDirectory("other", permissions: permissions)
        cloud.makeDirectory("other/sub", permissions: permissions)
        try await cloud.serve { server in
            let provider = try await provider(server)
            let anchor = try await provider.changes(since: nil).anchor
            for path in ["own", "other/sub", "other"] { try await list(key(path), provider) }
            let reported = try await quiet(provider, since: anchor).reported
            #expect(reported.contains(try key("other")), "the end of following is a change")
            for path in ["other", "other/sub", "other/new"] {
                let isFollowed = try await provider.follow(key(path))
                #expect(!isFollowed, "\(path)")
            }
            let isFollowed = try await provider.follow(key("own"))
            #expect(isFollowed)
        }
    }

    @Test func `a server whose etags do not cover subtrees is found out`() async throws {
        let cloud = NextcloudServer(propagates: false)
        for path in ["a", "a/b"] { cloud.makeDirectory(path) }
        try await cloud.serve { server in
            let provider = try await provider(server)
            var anchor = try await begin(provider, "a", "a/b")
            cloud.put([1], at: "a/b/file")
            let found = try await quiet(provider, since: anchor)
            #expect(found.reported.isEmpty, "the root's etag shows nothing of it")
            anchor = found.anchor
            // As the engine does now and then without a report.
            let names = try await list(key("a/b"), provider).objects.map { "\($0.name)" }
            #expect(names == ["file"])
            let error = await #expect(throws: ProviderError.self) {
                while true { _ = try await provider.changes(since: anchor) }
            }
            #expect(error?.kind == .unsupported)
            let isFollowed = try await provider.follow(key("a"))
            #expect(!isFollowed)
        }
    }

    /// Goal: after any changes by others the reports are enough to know the whole tree, and no change
    /// is taken for one that the root's etag does not show.
    ///
    /// Method: random changes, some of them while directories are listed. A directory is listed again
    /// only if it was reported, or appears in a listing.
    @Test(arguments: 0..<4) func `listings of reported directories show all changes`(seed: UInt64)
        async throws
    {
        let cloud = NextcloudServer()
        let random = Mutex(seed)
        @Sendable func draw(_ count: Int) -> Int {
            random.withLock {
                $0 = $0 &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return Int(($0 >> 33) % UInt64(count))
            }
        }
        let names = ["a", "b", "c"]
        @Sendable func change() {
            let depth = 1 + draw(3)
            let path = (0..<depth).map { _ in names[draw(3)] }.joined(separator: "/")
            let parent = path.split(separator: "/").dropLast().joined(separator: "/")
            let other = (0..<(1 + draw(3))).map { _ in names[draw(3)] }.joined(separator: "/")
            switch draw(5) {
            case 4
            where cloud.isDirectory(path) && !"\(other)/".hasPrefix("\(path)/")
                && !"\(path)/".hasPrefix("\(other)/")
                && cloud.isDirectory(other.split(separator: "/").dropLast().joined(separator: "/")):
                cloud.move(path, to: other)
            case 0 where cloud.isDirectory(parent) && !cloud.isDirectory(path):
                cloud.makeDirectory(path)
            case 1: cloud.remove(path)
            default:
                let top = names[draw(3)]
                guard cloud.isDirectory(path) else {
                    if !cloud.isDirectory(top) { cloud.makeDirectory(top) }
                    return
                }
                cloud.put([UInt8(draw(256))], at: "\(path)/file\(draw(2))")
            }
        }
        let changesWhileListing = Mutex(false)
        try await cloud.serve { request in
            if changesWhileListing.withLock({ $0 }), request["Depth"] == "1", draw(3) == 0 {
                change()
            }
            return false
        } _: { server in
            let provider = try await provider(server)
            var anchor = try await provider.changes(since: nil).anchor
            var tree = KnownTree()
            try await refresh([.root], &tree, provider)
            for _ in 0..<25 {
                for _ in 0..<draw(4) { change() }
                changesWhileListing.withLock { $0 = true }
                let report = try await provider.changes(since: anchor)
                #expect(!report.mayHaveMissed)
                anchor = report.anchor
                try await refresh(report.directories, &tree, provider)
                changesWhileListing.withLock { $0 = false }
            }
            var emptyCount = 0
            while emptyCount < 2 {
                let report = try await provider.changes(since: anchor)
                emptyCount = report.directories.isEmpty ? emptyCount + 1 : 0
                anchor = report.anchor
                try await refresh(report.directories, &tree, provider)
            }
            #expect(tree.paths == Set(cloud.paths))
            #expect(!tree.paths.isEmpty)
        }
    }

    /// The entries of each directory that was listed.
    private struct KnownTree {
        var entries: [ObjectKey: [RemoteObject]] = [:]

        /// Each path, and the tag of a file.
        var paths: Set<String> {
            Set(
                entries.flatMap { directory, objects in
                    objects.map { "\(directory.appending($0.name)) \($0.etag?.description ?? "")" }
                })
        }

        mutating func forget(_ directory: ObjectKey, _ provider: WebDAVProvider) {
            for key in entries.keys where key.names.starts(with: directory.names) {
                entries[key] = nil
                provider.unfollow(key)
            }
        }
    }

    /// Lists directories, and those in them that are new.
    private func refresh(
        _ directories: [ObjectKey], _ tree: inout KnownTree, _ provider: WebDAVProvider
    ) async throws {
        var queue = directories
        while let directory = queue.popLast() {
            let objects: [RemoteObject]
            do {
                objects = try await list(directory, provider).objects
            } catch let error as ProviderError
                where error.kind == .missing || error.kind == .wrongKind
            {
                tree.forget(directory, provider)
                continue
            }
            tree.entries[directory] = objects
            let children = Set(
                objects.filter { $0.kind == .directory }.map { directory.appending($0.name) })
            for known in tree.entries.keys
            where known.parent == directory && !children.contains(known) {
                tree.forget(known, provider)
            }
            queue += children.filter { tree.entries[$0] == nil }
        }
    }
}
