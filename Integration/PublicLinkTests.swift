import Foundation
import Glibc
import TestBytes
import Testing

/// `apus link`, where a remote makes links and where it makes none.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct PublicLinkTests {
    /// S3 through rclone signs an address that needs no credentials.
    @Test func `a link gives everybody the bytes`() async throws {
        try await ObjectStore.with(.seaweedFS) { store in
            let content = TestBytes.random(300_000, seed: 7)
            var options = MountedFolder.Options()
            options.otherSource = "rclone:store:\(ObjectStore.bucket)"
            options.environment = store.rcloneEnvironment
            try MountedFolder.with(options) { folder in
                // It stays here for as long as it is being written.
                let file = try OpenFile(folder.local("my file"), O_WRONLY | O_CREAT)
                try file.write(content)
                try Apus.expectRefusal("link", folder.local("my file"), naming: "sync")
                try file.close()
                try folder.sync()
                let link = try Apus.run("link", folder.local("my file"))
                #expect(link.status == 0, "\(link)")
                let url = link.output.trimmingCharacters(in: .whitespacesAndNewlines)
                #expect(url.hasPrefix(store.url + "/"))
                let copy = "\(folder.base)/copy"
                try Program.require("curl", "--silent", "--fail", "--output", copy, url)
                #expect(try Files.holds(content, at: copy))

                let json = try Apus.run("link", folder.local("my file"), "--json")
                let report = try JSONDecoder().decode(
                    [String: String].self, from: Data(json.output.utf8))
                #expect(report["url"]?.hasPrefix(store.url + "/") == true)
                try Apus.expectRefusal("link", folder.local("none"), naming: "none")
            }
        }
    }

    @Test func `a remote that makes none says so, and what to do`() throws {
        try MountedFolder.with(populate: { try Files.write([1], to: "\($0)/file") }) { folder in
            try Apus.expectRefusal("link", folder.local("file"), naming: "link", "folder", "rclone")
        }
    }

    /// The advice is of use for what is mounted.
    @Test func `an rclone remote that makes none sends nobody to rclone`() throws {
        let remotes = try RcloneRemotes()
        defer { remotes.remove() }
        var options = MountedFolder.Options()
        options.otherSource = "rclone:plain:"
        options.environment = remotes.environment
        try MountedFolder.with(options) { folder in
            try Files.write([1], to: folder.local("file"))
            try folder.sync()
            try Apus.expectRefusal(
                "link", folder.local("file"), naming: "no public links", "the cloud's own page")
            let result = try Apus.run("link", folder.local("file"))
            #expect(!result.errors.contains("through rclone"), "\(result)")
        }
    }
}
