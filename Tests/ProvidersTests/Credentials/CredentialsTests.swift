import Foundation
import Glibc
import Logging
import Providers
import Synchronization
import Testing

@testable import ProviderSupport

@Suite struct CredentialsTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Looks in the test's own folder, with these variables.
    private func find(
        _ variables: [String: String] = [:], source: String = "webdav+https://host/dav/me"
    ) async throws -> Credentials? {
        var all = variables
        all["HOME"] = folder.path
        let fixed = all
        return try await CredentialSearch { fixed[$0] }.find(
            source: source, host: "host", variables: "APUS_WEBDAV",
            commands: SecretCommands(logger: Logger(label: "test")),
            normalised: { try? Source(parsing: $0).identity })
    }

    private func write(_ name: String, _ text: String, mode: mode_t = 0o600) throws {
        let path = folder.path(name)
        let parent = (path as NSString).deletingLastPathComponent
        try FileManager.default.createDirectory(
            atPath: parent, withIntermediateDirectories: true)
        try folder.write(name, text)
        chmod(path, mode)
    }

    private func writeConfiguration(_ text: String, mode: mode_t = 0o600) throws {
        try write(".config/apus/config.toml", text, mode: mode)
    }

    @Test func `without any place that has some there are none`() async throws {
        #expect(try await find() == nil)
    }

    @Test func `the environment comes first, then our file, then netrc`() async throws {
        try write(".netrc", "machine host login n password one")
        #expect(try await find() == .password(user: "n", Secret("one")))
        try writeConfiguration(
            """
            [[credentials]]
            source = "webdav+https://host/dav/"
            username = "c"
            password = "two"
            """)
        #expect(try await find() == .password(user: "c", Secret("two")))
        let both = ["APUS_WEBDAV_USERNAME": "e", "APUS_WEBDAV_PASSWORD": "three"]
        #expect(try await find(both) == .password(user: "e", Secret("three")))
        #expect(try await find(["APUS_WEBDAV_BEARER": "four"]) == .bearer(Secret("four")))
        await #expect(throws: SourceError.self) { try await find(["APUS_WEBDAV_USERNAME": "e"]) }
    }

    @Test func `the nearest entry above a source is taken`() async throws {
        try writeConfiguration(
            """
            [[credentials]]
            source = "webdav+https://host"
            bearer = "all"
            [[credentials]]
            source = "webdav://HOST:443/dav"
            bearer = "dav"
            [[credentials]]
            source = "webdav+https://host/dav/m"
            bearer = "no prefix of names"
            """)
        #expect(try await find() == .bearer(Secret("dav")))
        #expect(
            try await find(source: "webdav+https://host/other") == .bearer(Secret("all")))
        #expect(try await find(source: "webdav+https://hostile/dav") == nil)
        #expect(try await find(source: "webdav+http://host/dav") == nil)
    }

    @Test func `a command gives the password`() async throws {
        try writeConfiguration(
            """
            [[credentials]]
            source = "webdav+https://host"
            username = "me"
            password-command = "printf 'secret\\nmore\\n'"
            """)
        #expect(try await find() == .password(user: "me", Secret("secret")))
    }

    @Test(arguments: [
        ("[[credentials]\n", "line 1"),
        ("credentials = 5", "[[credentials]]"),
        ("[[credentials]]\nusername = \"hush\"", "has no source"),
        ("[[credentials]]\nsource = \"x\"", "incomplete credentials"),
        (
            "[[credentials]]\nsource = \"x\"\nusername = \"u\"\nbearer = \"hush\"",
            "incomplete credentials"
        ),
        ("[[credentials]]\nsource = \"x\"\npasword = \"hush\"", "\"password\""),
        ("[[credentials]]\nsource = 5", "not a string"),
        (
            "[[credentials]]\nsource = \"webdav://host\"\nusername = \"u\"\n"
                + "password-command = \"echo hush; exit 3\"", "failed"
        ),
        (
            "[[credentials]]\nsource = \"webdav://host\"\nusername = \"u\"\n"
                + "password-command = \"true\"", "printed nothing"
        ),
    ])
    func `a file that makes no sense is refused, without a secret in the message`(
        text: String, part: String
    ) async throws {
        try writeConfiguration(text)
        let error = await #expect(throws: SourceError.self) { try await find() }
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("hush") == false)
    }

    private static let entry = """
        [[credentials]]
        source = "webdav+https://elsewhere"
        bearer = "hush"
        """

    @Test(arguments: [
        (".config/apus/config.toml", entry), (".netrc", "# machine host login a password b"),
    ])
    func `a file that others may open is refused, with what to do`(
        name: String, text: String
    ) async throws {
        for mode in [0o644, 0o640, 0o602] as [mode_t] {
            try write(name, text, mode: mode)
            let error = await #expect(throws: SourceError.self) { try await find() }
            #expect(error?.description.contains("chmod 600") == true)
        }
    }

    @Test func `a configuration file without credentials may be readable by others`() async throws {
        try write(".netrc", "machine host login n password one")
        try writeConfiguration("[mount.photos]\nsource = \"folder:/x\"\n", mode: 0o644)
        #expect(try await find() == .password(user: "n", Secret("one")))
        #expect(
            try CredentialSearch().holdsCredentials(
                configuration: folder.path(".config/apus/config.toml")) == false)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func `a file of somebody else is refused`() async throws {
        try writeConfiguration(Self.entry)
        chown(folder.path(".config/apus/config.toml"), 12_345, 12_345)
        let error = await #expect(throws: SourceError.self) { try await find() }
        #expect(error?.description.contains("another user") == true)
    }

    @Test func `netrc is read as others read it`() {
        let netrc = Netrc(
            parsing: """
                # comment machine no login no password no
                machine other.example login "a b" password "q\\"uo\\\\te #1" account x
                macdef init
                machine host login macro password macro

                machine HOST
                  login me
                  password p#w
                default login anonymous password guest
                """)
        #expect(netrc.credentials(for: "host") == .password(user: "me", Secret("p#w")))
        #expect(
            netrc.credentials(for: "other.example")
                == .password(user: "a b", Secret("q\"uo\\te #1")))
        #expect(netrc.credentials(for: "third") == .password(user: "anonymous", Secret("guest")))
        #expect(Netrc(parsing: "machine host login me").credentials(for: "host") == nil)
        #expect(Netrc(parsing: "password x \"").credentials(for: "host") == nil)
    }

    @Test func `a secret shows itself nowhere`() {
        let credentials = Credentials.password(user: "me", Secret("hush"))
        var dumped = ""
        dump(credentials, to: &dumped)
        for text in ["\(credentials)", String(reflecting: credentials), dumped] {
            #expect(!text.contains("hush"), "\(text)")
        }
    }
}
