import Testing

@testable import Engine
@testable import Simulation

/// The world of these tests has directories that nothing but a report causes to be listed again.
@Suite("Changes reported by the remote")
struct ChangeFeedTests {
    private static func settings(
        _ change: (inout SimulatedFeedSettings) -> Void = { _ in }
    ) -> SimulatedMountSettings {
        var settings = SimulatedMountSettings()
        var feed = SimulatedFeedSettings()
        change(&feed)
        settings.provider.feed = feed
        settings.provider.latency = .zero...(.milliseconds(5))
        settings.engine.refreshInterval = .seconds(86_400)
        settings.engine.followedRefreshInterval = .seconds(86_400)
        return settings
    }

    private static func fill(_ remote: SimulatedProvider) throws {
        try remote.otherClientMakesDirectory(Scenario.key("folder"))
        try remote.otherClientWrites(Scenario.key("folder/file"), [1])
        try remote.otherClientWrites(Scenario.key("folder/goes"), [1])
    }

    @Test func `show within half a second`() throws {
        try Scenario.run(settings: Self.settings(), before: Self.fill) { it in
            #expect(try await it.names(in: "folder") == ["file", "goes"])
            try await it.wait(.seconds(5))
            try it.remote.otherClientWrites(Scenario.key("folder/file"), [2, 2])
            try it.remote.otherClientWrites(Scenario.key("folder/comes"), [3])
            try it.remote.otherClientDeletes(Scenario.key("folder/goes"))
            try await it.wait(.milliseconds(500))
            #expect(try await it.names(in: "folder") == ["comes", "file"])
            #expect(try await it.read("folder/file") == [2, 2])
        }
    }

    /// Method: a local file that is open, so that it is not sent, has the name of a new remote one.
    @Test(arguments: ["removed", "renamed", "replaced"])
    func `show as soon as no local file hides them`(end: String) throws {
        try Scenario.run(settings: Self.settings(), before: Self.fill) { it in
            #expect(try await it.names(in: "folder") == ["file", "goes"])
            try await it.write("folder/new", [1])
            try await it.open(try await it.find("folder/new"))
            try it.remote.otherClientWrites(Scenario.key("folder/new"), [2])
            try await it.wait(.seconds(1))
            switch end {
            case "removed": try await it.unlink("folder/new")
            case "renamed": try await it.rename("folder/new", to: "folder/mine")
            default:
                try await it.write("folder/draft", [3])
                try await it.rename("folder/draft", to: "folder/new")
                try await it.unlink("folder/new")
            }
            try await it.wait(.seconds(1))
            let mine = end == "renamed" ? ["mine"] : []
            #expect(try await it.names(in: "folder") == ["file", "goes"] + mine + ["new"])
            #expect(try await it.read("folder/new") == [2])
        }
    }

    /// Method: a request for a new local file of the same name is lost before it reaches the remote. Until
    /// that is known, the other client's object could be this file.
    @Test(arguments: [false, true])
    func `show as soon as they are known not to be ours`(isRemoved: Bool) throws {
        try Scenario.run(settings: Self.settings(), before: Self.fill) { it in
            #expect(try await it.names(in: "folder") == ["file", "goes"])
            try await it.wait(.seconds(5))
            it.remote.setFaults(SimulatedProviderFaults(.unreachableBefore, 1))
            try await it.write("folder/new", [1])
            try await it.wait(.seconds(3))
            try it.remote.otherClientWrites(Scenario.key("folder/new"), [2, 2])
            if isRemoved {
                try await it.unlink("folder/new")
            } else {
                try await it.rename("folder/new", to: "folder/mine")
            }
            it.remote.setFaults(SimulatedProviderFaults())
            #expect(try await it.rest())
            try await it.wait(.seconds(1))
            let mine = isRemoved ? [] : ["mine"]
            #expect(try await it.names(in: "folder") == ["file", "goes"] + mine + ["new"])
            #expect(try await it.read("folder/new") == [2, 2])
        }
    }

    @Test func `are found after a loss, in all directories in use`() throws {
        let settings = Self.settings { $0.losses = 1 }
        try Scenario.run(settings: settings, before: Self.fill) { it in
            #expect(try await it.names(in: "folder") == ["file", "goes"])
            try await it.wait(.seconds(5))
            try it.remote.otherClientWrites(Scenario.key("folder/comes"), [3])
            try await it.wait(.seconds(1))
            #expect(try await it.names(in: "folder") == ["comes", "file", "goes"])
        }
    }

    @Test func `are found after an outage, as the next report begins where the last one ended`()
        throws
    {
        try Scenario.run(settings: Self.settings(), before: Self.fill) { it in
            #expect(try await it.names(in: "folder") == ["file", "goes"])
            try await it.wait(.seconds(5))
            it.remote.setReachable(false)
            try it.remote.otherClientWrites(Scenario.key("folder/comes"), [3])
            try await it.wait(.seconds(60))
            it.remote.setReachable(true)
            try await it.wait(.seconds(120))
            #expect(try await it.names(in: "folder") == ["comes", "file", "goes"])
        }
    }

    @Test func `are not asked for while the credentials are refused, and found afterwards`() throws
    {
        try Scenario.run(settings: Self.settings(), before: Self.fill) { it in
            #expect(try await it.names(in: "folder") == ["file", "goes"])
            try await it.wait(.seconds(5))
            it.remote.setAuthorized(false)
            try it.remote.otherClientWrites(Scenario.key("folder/comes"), [3])
            try await it.wait(.seconds(5))
            #expect(try it.status().reachability.isUnauthorized)
            let before = it.remote.reportsAsked
            try await it.wait(.seconds(200))
            #expect(it.remote.reportsAsked == before)
            it.remote.setAuthorized(true)
            try await it.wait(.seconds(120))
            #expect(try await it.names(in: "folder") == ["comes", "file", "goes"])
        }
    }

    /// Goal: a directory that the store cannot follow is listed at intervals as without a feed.
    @Test func `are found at intervals where the remote cannot follow a directory`() throws {
        var settings = Self.settings { $0.refusals = 1 }
        settings.engine.refreshInterval = .seconds(30)
        try Scenario.run(settings: settings, before: Self.fill) { it in
            #expect(try await it.names(in: "folder") == ["file", "goes"])
            try await it.wait(.seconds(5))
            try it.remote.otherClientWrites(Scenario.key("folder/comes"), [3])
            try await it.wait(.seconds(31))
            #expect(try await it.names(in: "folder") == ["comes", "file", "goes"])
        }
    }

    @Test func `follow a directory to another name, and one that takes its place`() throws {
        try Scenario.run(settings: Self.settings(), before: Self.fill) { it in
            #expect(try await it.names(in: "folder") == ["file", "goes"])
            try await it.wait(.seconds(5))
            try it.remote.otherClientRenames(Scenario.key("folder"), to: Scenario.key("moved"))
            try it.remote.otherClientMakesDirectory(Scenario.key("folder"))
            try await it.wait(.seconds(1))
            #expect(try await it.names(in: "") == ["folder", "moved"])
            #expect(try await it.names(in: "moved") == ["file", "goes"])
            #expect(try await it.names(in: "folder") == [])
            try await it.wait(.seconds(5))
            try it.remote.otherClientWrites(Scenario.key("folder/new"), [1])
            try it.remote.otherClientWrites(Scenario.key("moved/new"), [1])
            try await it.wait(.seconds(1))
            #expect(try await it.names(in: "folder") == ["new"])
            #expect(try await it.names(in: "moved") == ["file", "goes", "new"])
        }
    }

    @Test func `show in a directory that was renamed here`() throws {
        try Scenario.run(settings: Self.settings(), before: Self.fill) { it in
            #expect(try await it.names(in: "folder") == ["file", "goes"])
            try await it.rename("folder", to: "renamed")
            #expect(try await it.rest())
            try await it.wait(.seconds(5))
            try it.remote.otherClientWrites(Scenario.key("renamed/comes"), [3])
            try await it.wait(.seconds(1))
            #expect(try await it.names(in: "renamed") == ["comes", "file", "goes"])
        }
    }

    /// Method: listings are counted by what the remote answers.
    @Test func `of our own do not cause a listing each`() throws {
        try Scenario.run(settings: Self.settings(), before: Self.fill) { it in
            _ = try await it.names(in: "folder")
            try await it.wait(.seconds(5))
            let before = it.remote.listingsGiven
            for number in 0..<200 {
                try await it.write("folder/\(number)", [1])
                try await it.wait(.milliseconds(300))
            }
            #expect(try await it.rest())
            #expect(it.remote.listingsGiven - before < 30)
        }
    }

    @Test func `cost nothing while there are none`() throws {
        try Scenario.run(settings: Self.settings(), before: Self.fill) { it in
            _ = try await it.names(in: "folder")
            try await it.wait(.seconds(5))
            let before = it.remote.listingsGiven
            try await it.wait(.seconds(3_000))
            #expect(it.remote.listingsGiven == before)
        }
    }
}
