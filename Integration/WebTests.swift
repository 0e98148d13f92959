import Foundation
import Glibc
import TestBytes
import Testing

extension MountedTests {
    @Suite(.enabled(if: Chromium.path != nil, "Chromium is not installed; run scripts/setup"))
    struct `The web page` {
        private static let refreshing: MountedFolder.Options = {
            var options = MountedFolder.Options()
            options.mount = ["--refresh", "1s"]
            return options
        }()

        @Test(.timeLimit(.minutes(3)))
        func `shows a mount, and pins, unpins, downloads and evicts what is selected`() throws {
            try MountedFolder.with(Self.refreshing) { remote in
                try Files.makeDirectory(remote + "/Photos")
                for name in ["a.jpg", "b.jpg"] {
                    try Files.write(
                        TestBytes.random(300_000, seed: 1), to: "\(remote)/Photos/\(name)")
                }
                try Files.write([1], to: remote + "/c.txt")
            } _: { folder in
                try WebPage.with { page in
                    try page.choose(folder)
                    try page.await("Online", in: ".card[aria-pressed=true]")
                    try page.await("Everything is on the remote", in: ".card[aria-pressed=true]")
                    try page.await("Nothing", in: "#attention-list")

                    try page.open("Photos")
                    try page.await(state: "remote", of: "Photos/a.jpg")
                    try page.select("Photos/a.jpg")
                    try page.click("Download")
                    try page.await("1 file is on this machine", in: "#message")
                    try page.await(state: "local", of: "Photos/a.jpg")
                    #expect(try folder.state(of: "Photos/a.jpg") == "local")
                    #expect(try folder.state(of: "Photos/b.jpg") == "remote")

                    try page.select("Photos/b.jpg", adds: true)
                    try page.click("Pin")
                    try page.await("Pinned 2 files", in: "#message")
                    try page.await(state: "local", of: "Photos/b.jpg")
                    try page.browser.await(
                        "it is shown as pinned",
                        "\(page.row("Photos/b.jpg")).getAttribute('aria-label').endsWith('pinned')")
                    #expect(try folder.report().pins?.items == 2)

                    try page.click("Evict")
                    try page.await("kept Photos/", in: "#message")
                    try page.click("Unpin")
                    try page.await("Unpinned 2 items", in: "#message")
                    try page.click("Evict")
                    try page.await("of 2 files", in: "#message")
                    try page.await(state: "remote", of: "Photos/a.jpg")
                    #expect(try folder.state(of: "Photos/b.jpg") == "remote")
                    #expect(try folder.report().pins == nil)
                    #expect(try folder.report().traffic.received >= 600_000)
                }
            }
        }

        @Test(.timeLimit(.minutes(3)))
        func `downloads folders that were never opened, if they fit`() throws {
            var options = Self.refreshing
            options.mount += ["--cache-size", "64MiB"]
            try MountedFolder.with(options) { remote in
                try Files.makeDirectory(remote + "/deep")
                try Files.makeDirectory(remote + "/deep/er")
                try Files.write([1], to: remote + "/deep/a")
                try Files.write(TestBytes.random(300_000, seed: 3), to: remote + "/deep/er/b")
                try Files.write([], to: remote + "/film.mov")
                try CallError.check(truncate(remote + "/film.mov", 100 << 20), "truncate")
            } _: { folder in
                try WebPage.with { page in
                    try page.choose(folder)
                    try page.select("film.mov")
                    try page.click("Download")
                    try page.await(
                        "take 100 MiB, and the cache has", in: "#message[data-state=bad]")
                    #expect(try folder.report().traffic.received == 0)
                    #expect(try folder.state(of: "film.mov") == "remote")
                    try page.select("deep")
                    try page.click("Download")
                    try page.await("2 files are on this machine", in: "#message[data-state=good]")
                    #expect(try folder.state(of: "deep/er/b") == "local")
                    #expect(try folder.report().traffic.received == 300_001)
                }
            }
        }

        @Test(.timeLimit(.minutes(3)))
        func `shows local and remote changes while that part is open, also of the next daemon`()
            throws
        {
            try MountedFolder.with(Self.refreshing) { remote in
                try Files.write([1], to: remote + "/a")
            } _: { folder in
                #expect(try Files.names(in: folder.point) == ["a"])
                try WebPage.with { page in
                    try page.choose(folder)
                    try page.browser.evaluate(
                        "document.querySelector('#changes > summary').click()")
                    try page.await("None since", in: "#changes-empty")
                    try Files.rename(folder.local("a"), to: folder.local("b <i>"))
                    try page.await("a → b <i>", in: "#changes-list")
                    try Files.write([1], to: folder.remote("c"))
                    try page.await("by another client", in: "#changes-list")
                    try folder.killDaemon()
                    try folder.remount()
                    try Files.makeDirectory(folder.local("later"))
                    try page.await("later", in: "#changes-list")
                }
            }
        }

        /// Returns once the page has asked for the mounts since the call, and has the answer.
        private static func awaitLook(by page: WebPage) throws {
            let looks =
                "performance.getEntriesByType('resource')"
                + ".filter((each) => each.name.endsWith('/mounts')).length"
            try page.browser.evaluate("window.looksBefore = \(looks)")
            // The first may have been on its way.
            try page.browser.await("a look at the mounts", "\(looks) > window.looksBefore + 1")
        }

        @Test(.timeLimit(.minutes(3)))
        func `tells of a daemon that has died, and follows the next one`() throws {
            try MountedFolder.with(Self.refreshing) { remote in
                try Files.write([1], to: remote + "/a")
            } _: { folder in
                // Another mount, to which the page must not turn meanwhile.
                try MountedFolder.with { _ in
                    try WebPage.with { page in
                        try page.choose(folder)
                        try folder.killDaemon()
                        try page.browser.await(
                            "the card says so",
                            "\(page.card(of: folder))?.querySelector('.remote').dataset.state "
                                + "=== 'bad'")
                        try Program.run("fusermount3", "-uz", folder.point)
                        try Self.awaitLook(by: page)
                        try folder.remount()
                        try page.await("Online", in: ".card[aria-pressed=true]")
                        try Files.write([1], to: folder.local("b"))
                        try page.await(state: "local", of: "b")
                    }
                }
            }
        }

        @Test(.timeLimit(.minutes(3)))
        func `shows an outage with what waits, and its end`() async throws {
            try await WebDAVServer.with(.apache) { server in
                var options = MountedFolder.Options()
                options.otherSource = server.source
                try MountedFolder.with(options) { folder in
                    let file = try OpenFile(folder.local("queued"), O_RDWR | O_CREAT)
                    try folder.sync()
                    try WebPage.with { page in
                        try page.choose(folder)
                        try page.await("Online", in: ".card[aria-pressed=true]")
                        try page.await(
                            "1 file is still open for writing", in: ".card[aria-pressed=true]")
                        try server.kill()
                        try file.write([1])
                        try file.close()
                        try page.await("Offline for", in: ".card[aria-pressed=true]")
                        try page.await("1 change to send", in: ".card[aria-pressed=true]")
                        try page.await("The remote has not answered", in: "#attention-list")
                        try page.await(state: "dirty", of: "queued")
                        try server.restart()
                        try page.click("Retry", in: "#attention-list")
                        try page.await("Online", in: ".card[aria-pressed=true]")
                        try page.await("Nothing", in: "#attention-list")
                        try page.await(state: "local", of: "queued")
                    }
                }
            }
        }

        @Test(.timeLimit(.minutes(3)))
        func `can be used by keys alone`() throws {
            try MountedFolder.with(Self.refreshing) { remote in
                try Files.makeDirectory(remote + "/Photos")
                for name in ["a", "b", "c"] { try Files.write([1], to: "\(remote)/Photos/\(name)") }
            } _: { folder in
                try WebPage.with { page in
                    try page.choose(folder)
                    let browser = page.browser
                    try browser.await("the row of Photos", "!!\(page.row("Photos"))")
                    for _ in 0..<100
                    where try browser.evaluate("document.activeElement.id") as? String != "tree" {
                        try browser.press("Tab")
                    }
                    try browser.press("ArrowDown")
                    try browser.press("ArrowRight")
                    try browser.await("it is open", "!!\(page.row("Photos/a"))")
                    try browser.press("ArrowRight")
                    try browser.press("ArrowDown", isShifted: true)
                    let selected =
                        "[...document.querySelectorAll('[aria-selected=true]')]"
                        + ".map((row) => row.querySelector('.name').textContent).join()"
                    try browser.await("two are selected", "\(selected) === 'a,b'")
                    try browser.await(
                        "the last one is where the keys are",
                        "document.getElementById(document.getElementById('tree')"
                            + ".getAttribute('aria-activedescendant')).textContent.includes('b')")
                    // Back to the first button of the bar above.
                    for _ in 0..<10
                    where try browser.evaluate("document.activeElement.textContent") as? String
                        != "Pin"
                    {
                        try browser.press("Tab", isShifted: true)
                    }
                    try browser.press("Enter")
                    try page.await("Pinned 2 files", in: "#message")
                    try browser.await(
                        "the focus stays", "document.activeElement.textContent === 'Pin'")
                    #expect(try folder.report().pins?.items == 2)
                }
            }
        }

        @Test(.timeLimit(.minutes(5)))
        func `has few elements for a folder of 100,000 names, and reaches the last`() throws {
            try MountedFolder.with(Self.refreshing) { remote in
                try Files.makeDirectory(remote + "/many")
                for index in 0..<100_000 {
                    try CallError.check(
                        mknod("\(remote)/many/\(index)", S_IFREG | 0o644, 0), "mknod")
                }
            } _: { folder in
                try WebPage.with { page in
                    try page.choose(folder)
                    try page.open("many")
                    let browser = page.browser
                    try browser.await("its names", "!!document.querySelector('[aria-level=\"2\"]')")
                    try browser.await(
                        "the last one",
                        """
                        (() => {
                          const tree = document.getElementById("tree");
                          tree.scrollTop = tree.scrollHeight;
                          return tree.scrollHeight >= 100_001 * 32 && !tree.querySelector(".note");
                        })()
                        """, within: .seconds(240))
                    let number = try browser.evaluate(
                        "document.querySelectorAll('#tree *').length")
                    let elements = try #require(number as? Int)
                    #expect(elements < 1_000)
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `is served on this machine only, and ends at a signal`() throws {
            try WebPage.serving { url, server in
                #expect(url.hasPrefix("http://127.0.0.1:"))
                let parts = url.split(separator: "#")
                #expect(parts.count == 2 && parts[1].count == 64)
                let port = try #require(URL(string: url)?.port)
                let listeners = try Program.require("cat", "/proc/net/tcp", "/proc/net/tcp6")
                let own = listeners.split(separator: "\n").filter {
                    $0.contains(String(format: ":%04X ", port)) && $0.contains(" 0A ")
                }
                #expect(own.count == 1 && own[0].contains(" 0100007F:"))
                try Apus.expectRefusal(
                    "web", "--no-open", "--port", "\(port)", naming: "in use", "--port")
                server.signal(SIGINT)
                try server.wait().expectSuccess()
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `is opened without its secret being an argument that others can read`() throws {
            let folder = try Files.makeTemporaryDirectory("o")
            defer { try? Files.removeDirectory(folder) }
            let script =
                "#!/bin/sh\n{ stat -c %a \"$1\"; cat \"$1\"; } >\(folder)/seen.part\n"
                + "echo \"$@\" >\(folder)/arguments\nmv \(folder)/seen.part \(folder)/seen\n"
            try Files.write(Array(script.utf8), to: folder + "/xdg-open")
            try Files.setMode(0o755, of: folder + "/xdg-open")
            let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
            let server = try Apus.start(
                ["web"],
                environment: ["PATH": "\(folder):\(path)", "XDG_RUNTIME_DIR": folder])
            defer { server.killAll() }
            try eventually("the browser is opened") { Files.exists(folder + "/seen") }
            let url = server.outputSoFar.trimmingCharacters(in: .whitespacesAndNewlines)
            let token = try #require(url.split(separator: "#").last)
            let seen = String(decoding: try Files.read(folder + "/seen"), as: UTF8.self)
            #expect(seen.hasPrefix("600\n") && seen.contains(url), "\(seen)")
            let arguments = String(decoding: try Files.read(folder + "/arguments"), as: UTF8.self)
            #expect(arguments.contains(".html") && !arguments.contains(token), "\(arguments)")
            server.signal(SIGTERM)
            try server.wait().expectSuccess()
            #expect(
                try Files.names(in: folder).sorted() == ["arguments", "seen", "xdg-open"])
        }
    }
}
