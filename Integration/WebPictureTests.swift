import Foundation
import Glibc
import TestBytes
import Testing

extension MountedTests {
    /// Makes the pictures of the documents, and only if `make images` asks for them.
    @Suite(.enabled(if: WebPage.pictureFolder != nil, "`make images` makes pictures"))
    struct `Pictures of the web page` {
        @Test(.timeLimit(.minutes(4)))
        func `in light, dark and narrow`() throws {
            var options = MountedFolder.Options()
            options.mount = ["--refresh", "1s", "--cache-size", "2GiB"]
            options.source = "rate=1MiB"
            try MountedFolder.with(options) { remote in
                for name in ["Archive", "Music", "Photos", "Shared"] {
                    try Files.makeDirectory("\(remote)/\(name)")
                }
                try Self.paint("\(remote)/Photos/harbour.jpg", seed: 1)
                for index in 1...8 {
                    try Files.write(
                        TestBytes.random(40_000 * index, seed: UInt64(index)),
                        to: "\(remote)/Photos/2026-0\(index)-15.jpg")
                }
                try Files.write(Array("Budget\n".utf8), to: "\(remote)/budget.txt")
            } _: { mount in
                try makeTrouble(mount)
                try WebPage.with { page in
                    try page.choose(mount)
                    try page.open("Photos")
                    try page.await("harbour", in: "#attention-list")
                    try page.await("Shared/offer.pdf", in: "#attention-list")
                    try page.click("Compare", in: "#attention-list")
                    try page.browser.await(
                        "both pictures",
                        "[...document.querySelectorAll('.versions img')]"
                            + ".filter((image) => image.naturalWidth > 0).length === 2")
                    try Files.write(
                        TestBytes.random(60 << 20, seed: 9), to: mount.local("Music/concert.flac")
                    )
                    try page.select("Photos/2026-03-15.jpg")
                    try page.click("Pin")
                    try page.await("Pinned 1 file", in: "#message")
                    try page.await("concert.flac", in: "#transfers")
                    try page.browser.await(
                        "some throughput",
                        "/at most [5-9]\\d\\d|at most \\d+\\.\\d MiB/.test("
                            + "document.querySelector('.legend').textContent)")
                    // Enough of it to be seen as a line.
                    try page.browser.evaluate("new Promise((done) => setTimeout(done, 12_000))")
                    try page.disguise()
                    try page.save("web-light", width: 1100, isDark: false)
                    try page.save("web-dark", width: 1100, isDark: true)
                    try page.save("web-narrow", width: 400, isDark: false)
                }
            }
        }

        /// Makes a conflict between pictures, and a file that the remote refuses.
        private func makeTrouble(_ mount: MountedFolder) throws {
            let name = mount.local("Photos/harbour.jpg")
            _ = try Files.read(name)
            _ = try Files.read(mount.local("budget.txt"))
            let other = mount.base + "/other.jpg"
            try Self.paint(other, seed: 2)
            let file = try OpenFile(name, O_RDWR | O_TRUNC)
            try file.write(try Files.read(other), at: 0)
            try Self.paint(other, seed: 3)
            try Files.replace(mount.remote("Photos/harbour.jpg"), with: try Files.read(other))
            try file.close()
            try eventually("there is a conflict") { try mount.report().counts.conflicts == 1 }
            try Files.forbidChanges(in: mount.remote("Shared"))
            try Files.write(
                TestBytes.random(180_000, seed: 4), to: mount.local("Shared/offer.pdf"))
            try eventually("a file is refused") { try mount.report().counts.failed == 1 }
        }

        /// Makes a small picture of coloured clouds.
        private static func paint(_ path: String, seed: Int) throws {
            let parts = (0..<3).map { "\(path).\($0).v" }
            for (index, part) in parts.enumerated() {
                try Program.require(
                    "vips", "perlin", part, "480", "320", "--cell-size", "\(96 << index)",
                    "--uchar", "--seed", "\(seed * 10 + index)")
            }
            try Program.require("vips", "bandjoin", parts.joined(separator: " "), path)
            for part in parts { try Files.unlink(part) }
        }
    }
}

extension WebPage {
    /// The directory for the pictures; nil if none are requested.
    fileprivate static let pictureFolder = ProcessInfo.processInfo.environment["APUS_IMAGES"]

    /// Saves a picture of the whole page at a width.
    fileprivate func save(_ name: String, width: Int, isDark: Bool) throws {
        let folder = try #require(Self.pictureFolder)
        // As high as the page, so that what stays in sight is at its end.
        var height = 900
        for _ in 0..<2 {
            try browser.show(width: width, height: height, isDark: isDark)
            try browser.evaluate("new Promise((done) => setTimeout(done, 1_500))")
            let end = try browser.evaluate(
                "Math.ceil(document.body.getBoundingClientRect().bottom)")
            height = try #require(end as? Int)
        }
        let picture = "\(folder)/\(name).png"
        try browser.picture().write(to: URL(filePath: picture))
        // A third of the size.
        try Program.require("vips", "copy", picture, "\(picture).png[palette,effort=10]")
        try Files.rename("\(picture).png", to: picture)
    }

    /// Shows a mount as users have it, and no other: the pictures are the same on every machine.
    fileprivate func disguise() throws {
        try browser.evaluate(
            #"""
            {
              const disguise = () => {
                for (const card of document.querySelectorAll(".card")) {
                  card.hidden = card.getAttribute("aria-pressed") !== "true";
                }
                const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
                while (walker.nextNode()) {
                  const node = walker.currentNode;
                  const text = node.textContent
                    .replace(/^\/\S+\/mount$/, "/home/me/Cloud")
                    .replace(/^folder:\S+$/, "webdav+https://cloud.example.org/dav/me")
                    .replace(/\(conflict \S+ /, "(conflict laptop ");
                  if (text !== node.textContent) node.textContent = text;
                }
              };
              // Before each change is drawn.
              new MutationObserver(disguise).observe(document.body, {
                subtree: true, childList: true, characterData: true,
              });
              disguise();
            }
            """#)
    }
}
