import Foundation
import Glibc
import TestBytes
import Testing

extension MountedTests {
    /// Those of the selection that change what is local are in `The web page`.
    @Suite(
        .timeLimit(.minutes(3)),
        .enabled(if: Chromium.path != nil, "Chromium is not installed; run scripts/setup"))
    struct `The buttons of the web page` {
        private static let refreshing: MountedFolder.Options = {
            var options = MountedFolder.Options()
            options.mount = ["--refresh", "1s"]
            return options
        }()

        private static let mine = Array("what I wrote".utf8)
        private static let theirs = Array("what they wrote".utf8)

        @Test func `show both versions of a conflict, and keep either of them or both`() throws {
            let names = ["mine.txt", "theirs.txt", "both.txt"]
            try MountedFolder.with(Self.refreshing) { remote in
                for name in names { try Files.write(Array("base".utf8), to: "\(remote)/\(name)") }
            } _: { folder in
                for name in names { try makeConflict(folder, name) }
                try folder.sync()
                try eventually("there are conflicts") {
                    try folder.report().counts.conflicts == names.count
                }
                try WebPage.with { page in
                    try page.choose(folder)
                    try page.await("3 conflicts", in: ".card[aria-pressed=true]")
                    try page.click("Compare", in: entry("mine.txt"))
                    let versions = "\(entry("mine.txt")) .versions figure"
                    try page.await("what I wrote", in: "\(versions):nth-child(1)")
                    try page.await("what they wrote", in: "\(versions):nth-child(2)")
                    try page.click("Compare", in: entry("mine.txt"))
                    try page.browser.await(
                        "they are hidden", "document.querySelector('.versions').hidden")

                    try page.click("Keep mine", in: entry("mine.txt"))
                    try page.await("Kept mine as mine.txt", in: "#message[data-state=good]")
                    try page.await("2 conflicts", in: ".card[aria-pressed=true]")
                    try page.click("Keep theirs", in: entry("theirs.txt"))
                    try page.await("Kept theirs as theirs.txt", in: "#message[data-state=good]")
                    try page.await("1 conflict", in: ".card[aria-pressed=true]")
                    try page.click("Keep both", in: entry("both.txt"))
                    try page.await("Kept both; yours is both (", in: "#message[data-state=good]")
                    try page.await("Nothing", in: "#attention-list")
                }
                try folder.sync()
                #expect(try Files.read(folder.remote("mine.txt")) == Self.mine)
                #expect(try Files.read(folder.remote("theirs.txt")) == Self.theirs)
                #expect(try Files.read(folder.remote("both.txt")) == Self.theirs)
                let all = try Files.names(in: folder.remote)
                let others = all.filter { !names.contains($0) }
                #expect(all.count == 4 && others.allSatisfy { $0.hasPrefix("both (") }, "\(all)")
                let other = try #require(others.first)
                #expect(try Files.read(folder.remote(other)) == Self.mine)
                #expect(try Files.names(in: folder.point) == all)
            }
        }

        @Test func `retry and send what has failed`() throws {
            try MountedFolder.with(Self.refreshing) { remote in
                try Files.makeDirectory(remote + "/closed")
            } _: { folder in
                try Files.forbidChanges(in: folder.remote("closed"))
                defer { try? Files.allowChanges(in: folder.remote("closed")) }
                try WebPage.with { page in
                    try page.choose(folder)
                    try page.open("closed")
                    try page.await("Empty folder", in: "#tree")
                    try Files.write(
                        TestBytes.random(50_000, seed: 2), to: folder.local("closed/x"))
                    try page.await("closed/x", in: "#attention-list")
                    try page.await("1 change to send", in: ".card[aria-pressed=true]")
                    try page.await(state: "failed", of: "closed/x")

                    try page.click("Retry", in: "#attention-list")
                    try page.await("Retry closed/x: ", in: "#message[data-state=bad]")
                    try Files.allowChanges(in: folder.remote("closed"))
                    try page.click("Retry", in: "#attention-list")
                    try page.await("Nothing", in: "#attention-list")
                    try page.await("Everything is on the remote", in: ".card[aria-pressed=true]")
                    try page.await(state: "local", of: "closed/x")
                    #expect(Files.exists(folder.remote("closed/x")))

                    try Files.forbidChanges(in: folder.remote("closed"))
                    try Files.write([1, 2, 3], to: folder.local("closed/y"))
                    try page.await(state: "failed", of: "closed/y")
                    try page.select("closed/y")
                    try page.click("Send now")
                    try page.await("Send now: closed/y: ", in: "#message[data-state=bad]")
                    try Files.allowChanges(in: folder.remote("closed"))
                    try page.click("Send now")
                    try page.await(
                        "Everything of it is on the remote", in: "#message[data-state=good]")
                    #expect(try Files.read(folder.remote("closed/y")) == [1, 2, 3])
                    try page.await(state: "local", of: "closed/y")
                }
            }
        }

        /// Deletes files here at once, and shows that to the page.
        private func deleting(
            _ count: Int, _ body: (MountedFolder, WebPage, _ names: [String]) throws -> Void
        ) throws {
            let names = (0..<count).map { String($0 + 1_000) }
            try MountedFolder.with(Self.refreshing) { remote in
                try Files.makeDirectory(remote + "/many")
                for name in names { try Files.write([1], to: "\(remote)/many/\(name)") }
            } _: { folder in
                #expect(try Files.names(in: folder.local("many")) == names)
                try Program.start(["rm", "-rf"] + names.map { folder.local("many/\($0)") })
                    .wait().expectSuccess()
                try WebPage.with { page in
                    try page.choose(folder)
                    try page.await("deletions here held", in: "#attention-list")
                    try body(folder, page, names)
                    try page.await("Nothing", in: "#attention-list")
                }
            }
        }

        /// The report of the page has 200 items, so that it cannot tell the exact number of more.
        @Test func `confirm held deletions`() throws {
            try deleting(250) { folder, page, names in
                try page.await("at least 200 deletions here held", in: "#attention-list")
                #expect(try Files.names(in: folder.remote("many")) == names)
                try page.click("Confirm", in: "#attention-list")
                try page.await("250 deletions are done", in: "#message[data-state=good]")
                try folder.sync()
                #expect(try Files.names(in: folder.remote("many")) == [])
            }
        }

        @Test func `bring back held deletions`() throws {
            try deleting(120) { folder, page, names in
                try page.click("Reject", in: "#attention-list")
                try page.await("120 items are back", in: "#message")
                try eventually("they are here") {
                    try Files.names(in: folder.local("many")) == names
                }
                #expect(try Files.names(in: folder.remote("many")) == names)
            }
        }

        /// Method: the remote reports no changes by itself, and is looked at once in an hour; it is slow.
        @Test func `look at the remote, and stop a download`() async throws {
            try await WebDAVServer.with(.apache) { server in
                let bytes = TestBytes.random(8 << 20, seed: 11)
                try Files.write(bytes, to: "\(server.folder)/large")
                try server.makeRoom("folder")
                var options = MountedFolder.Options()
                options.otherSource = server.source
                options.mount = ["--refresh", "1h", "--bandwidth", ":64KiB"]
                try MountedFolder.with(options) { folder in
                    try WebPage.with { page in
                        try page.choose(folder)
                        try page.open("folder")
                        try page.await("Empty folder", in: "#tree")
                        try Files.write([1], to: "\(server.folder)/folder/new")
                        try page.select("folder")
                        try page.click("Refresh")
                        try page.await("1 folder is up to date", in: "#message[data-state=good]")
                        try page.await(state: "remote", of: "folder/new")

                        try page.select("large")
                        try page.click("Download")
                        try page.await(state: "partial", of: "large")
                        // Nothing of it may have arrived yet.
                        try page.click("Stop", in: "#message")
                        try page.await("Download: Stopped.", in: "#message[data-state=good]")
                        try eventually("the daemon has stopped, too") {
                            try folder.report().items.isEmpty
                        }
                        #expect(try folder.state(of: "large") != "local")
                        try page.click("Evict")
                        try page.await("of 1 file", in: "#message[data-state=good]")
                        try page.await(state: "remote", of: "large")
                    }
                }
            }
        }

        /// The entry of a conflict in the list of what needs attention.
        private func entry(_ name: String) -> String {
            "#attention-list li:has([aria-label=\"Keep mine: \(name)\"])"
        }

        private func makeConflict(_ folder: MountedFolder, _ name: String) throws {
            #expect(try Files.read(folder.local(name)) == Array("base".utf8))
            let file = try OpenFile(folder.local(name), O_RDWR)
            try file.write(Self.mine, at: 0)
            try Files.replace(folder.remote(name), with: Self.theirs)
            try file.close()
        }
    }
}
