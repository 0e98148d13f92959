import Foundation
import Glibc
import Testing

/// The world of docs/guide.md: a user with a home of her own, her servers, a NAS and two disks.
///
/// Commands are run on a terminal, so that their output is that of the guide. As root they have a mount
/// namespace of their own with an empty directory for states, and see no mounts of others.
final class GuideWorld {
    /// Everything of this world except for the servers is below here.
    let base: String
    let server: WebDAVServer
    private let store: ObjectStore?
    private var home: String
    private let namespace: Program?
    private let prefix: [String]

    /// The password of the guide is the real one, so that it needs no place in ``values``.
    private static func account(_ password: String) -> WebDAVServer.Account {
        WebDAVServer.Account(scheme: .basic, user: "anna", password: password)
    }

    /// Makes the world for a section, and takes it away after `body` whatever happens. From the third
    /// chapter on, the cloud of the guide's configuration is mounted.
    static func with(
        _ section: Guide.Section, isolation: isolated (any Actor)? = #isolation,
        _ body: (GuideWorld) throws -> Void
    ) async throws {
        func run(_ server: WebDAVServer, _ store: ObjectStore?) throws {
            let world = try GuideWorld(server, store)
            defer { world.remove() }
            try world.populate()
            if section.chapter >= 3 { try world.configureAndMount() }
            try body(world)
        }
        try await WebDAVServer.with(.apache, account: account("APP-PASSWORD")) { server in
            guard section.blocks.contains(where: { $0.commands.contains("s3://") }) else {
                return try run(server, nil)
            }
            try await ObjectStore.with(.seaweedFS) { try run(server, $0) }
        }
    }

    private init(_ server: WebDAVServer, _ store: ObjectStore?) throws {
        self.server = server
        self.store = store
        let base = try Files.makeTemporaryDirectory("g")
        self.base = base
        home = "\(base)/home"
        for name in ["home", "new-home", "states", "new-states", "bin", "nas", "usb", "drive"] {
            try Files.makeDirectory("\(base)/\(name)", mode: 0o700)
        }
        guard geteuid() == 0 else {
            (namespace, prefix) = (nil, [])
            return
        }
        let namespace = try Program.start(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", Self.script, base],
            limitSeconds: Program.serverLimitSeconds)
        self.namespace = namespace
        try eventually("the namespace exists") {
            try #require(namespace.isRunning, Comment(rawValue: namespace.errorsSoFar))
            return Files.exists("\(base)/process")
        }
        let process = String(decoding: try Files.read("\(base)/process"), as: UTF8.self)
        prefix = ["nsenter", "--target", String(process.prefix { $0 != "\n" }), "--mount"]
    }

    private static let script = """
        while read -r device point type rest; do
            case $type in fuse.apus) umount -l "$(printf %b "$point")" ;; esac
        done < /proc/self/mounts
        mkdir -p /var/lib/apus && mount --bind "$0/states" /var/lib/apus &&
            echo $$ > "$0/process.new" && mv "$0/process.new" "$0/process" && exec sleep 590
        """

    // MARK: Content

    private func populate() throws {
        try Files.link(Apus.path, at: "\(base)/bin/apus")
        try require(
            """
            mkdir -p "$1/photos" "$1/Documents" "$1/Photos" "$1/drive/Photos" ~/.config/rclone
            for name in beach forest lake; do
                vips gaussnoise "$1/photos/$name.jpg" 640 480 --sigma 40
            done
            mkdir "$1/camera" && cp -r "$1/photos" "$1/camera/DCIM"
            cp -r "$1/photos" "$1/Photos/2025"
            echo 'Dear tax office,' > "$1/Documents/letter.txt"
            echo 'Paint the fence.' > "$1/Documents/plan.txt"
            cp -r "$1/Documents" "$1/Photos" "$1/nas"
            cp -r "$1/Photos/2025" "$1/drive/Photos"
            printf '[drive]\\ntype = alias\\nremote = %s/drive\\n' "$1" > ~/.config/rclone/rclone.conf
            chmod 600 ~/.config/rclone/rclone.conf
            cp -r "$1/Documents" "$1/Photos" "$2"
            truncate -s 80M "$2/Photos/film.mov"
            chmod -R a+rwX "$2"
            # Nothing can be made in it through the server.
            mkdir "$2/Shared" && echo 'Be kind.' > "$2/Shared/rules.txt" && chmod 555 "$2/Shared"
            """, base, server.folder)
    }

    /// As the guide does it; and the user has looked into all folders.
    private func configureAndMount() throws {
        let title = "A name for it"
        let section = try #require(Guide.current.sections.first { $0.title == title })
        for block in section.blocks where block.reasonNotToRun == nil {
            try #require(try problem(with: block) == nil)
        }
        try require("apus mount cloud && find ~/Cloud")
    }

    // MARK: Commands

    /// The values of the guide that are others here: these are replaced in commands, and put back in
    /// outputs.
    private var values: [(guide: String, here: String)] {
        let keys = store?.environment
        return [
            ("https://cloud.example.com/remote.php/dav/files/anna", server.url),
            ("cloud.example.com", "127.0.0.1"),
            ("s3://anna-photos", "s3://\(ObjectStore.bucket)"),
            ("https://s3.example.com", store?.url ?? "http://127.0.0.1:9"),
            ("eu-central-1", "us-east-1"),
            ("ACCESS-KEY", keys?["AWS_ACCESS_KEY_ID"] ?? "none"),
            ("SECRET-KEY", keys?["AWS_SECRET_ACCESS_KEY"] ?? "none"),
            ("/mnt/nas", "\(base)/nas"), ("/media/usb", "\(base)/usb"),
            ("/media/camera", "\(base)/camera"),
        ]
    }

    /// The same for outputs only.
    private var places: [(guide: String, here: String)] {
        [("/home/anna", home), ("/home/anna/.local/state/apus", "/var/lib/apus")]
    }

    /// Runs a block of the guide.
    ///
    /// - Returns: How it differs from the guide; nil if it does not.
    func problem(with block: Guide.Block) throws -> String? {
        for name in block.events {
            guard let event = GuideEvent(rawValue: name) else {
                return "\(block.place): the event \"\(name)\" is not known"
            }
            try event.happen(in: self)
        }
        let commands = values.reduce(block.commands) { text, value in
            text.replacing(value.guide, with: value.here)
        }
        let result = try shell(commands, onTerminal: true)
        let output = (values + places).reduce(Self.shown(result.output)) { text, value in
            text.replacing(value.here, with: value.guide)
        }
        if result.status != block.status {
            return "\(block.place): \(block.commands)ended with \(result.status):\n\(output)"
        }
        guard let expected = block.output, !ExpectedOutput(expected).matches(output) else {
            return nil
        }
        return "\(block.place): \(block.commands)printed\n\(output)instead of\n\(expected)"
    }

    /// Runs a script that is not of the guide, and has to succeed.
    func require(
        _ script: String, _ arguments: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let result = try shell(script, arguments, onTerminal: false)
        try #require(
            result.status == 0, Comment(rawValue: result.description),
            sourceLocation: sourceLocation)
    }

    /// Runs a script, in the directory and with the variables that the last one has left.
    private func shell(
        _ script: String, _ arguments: [String] = [], onTerminal: Bool
    ) throws -> Program.Result {
        let text = """
            set -eo pipefail
            \(onTerminal ? "stty cols 200" : "")
            if [ -e "$GUIDE/variables" ]; then . "$GUIDE/variables"; fi
            cd "$(cat "$GUIDE/directory" 2>/dev/null || echo ~)"
            \(script)
            export -p > "$GUIDE/variables"
            pwd > "$GUIDE/directory"
            """
        let file = "\(base)/commands"
        try Files.write(Array(text.utf8), to: file)
        let command =
            onTerminal
            ? ["script", "-qec", "bash \(file)", "/dev/null"] : ["bash", file] + arguments
        return try Program.start(prefix + command, limitSeconds: 120, environment: environment)
            .wait()
    }

    private var environment: [String: String] {
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        return [
            "GUIDE": base, "HOME": home, "PATH": "\(base)/bin:\(Self.project)/.venv/bin:\(path)",
            "LC_ALL": "C.UTF-8", "TERM": "dumb", "AWS_EC2_METADATA_DISABLED": "true",
            "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "",
        ]
    }

    /// Returns the text that a terminal shows in the end: lines of progress are erased.
    private static func shown(_ output: String) -> String {
        output.replacing("\r\n", with: "\n").split(
            separator: "\n", omittingEmptySubsequences: false
        )
        .map { line in line.split(separator: "\r\u{1B}[2K").last ?? "" }
        .joined(separator: "\n")
    }

    // MARK: Events

    func changePassword(to password: String) throws {
        try server.change(to: Self.account(password))
    }

    /// Kills the daemon of the only mount.
    func killDaemon() throws {
        let lock = "\(geteuid() == 0 ? "\(base)/states" : "\(home)/.local/state/apus")/*/lock"
        try require("kill -KILL $(head -qn 1 \(lock))")
    }

    func moveToNewMachine() throws {
        home = "\(base)/new-home"
        try Files.unlink("\(base)/variables")
        try Files.unlink("\(base)/directory")
        guard geteuid() == 0 else { return }
        try require("umount /var/lib/apus && mount --bind $GUIDE/new-states /var/lib/apus")
    }

    // MARK: The end

    private func remove() {
        let end = """
            cd /
            while read -r device point type rest; do
                case $type in fuse.apus) apus unmount --now "$point" || umount -l "$point" ;; esac
            done < <(grep " $GUIDE/" /proc/self/mounts)
            """
        _ = try? shell(end, onTerminal: false)
        // Mounts that are left go with their namespace, and daemons with their mounts.
        namespace?.killAll()
        _ = try? namespace?.wait()
        _ = try? Program.run("chattr", "-R", "-i", base)
        if getenv("KEEP") == nil {
            _ = try? Program.run("rm", "-rf", "--one-file-system", base)
        }
    }

    private static let project = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path(percentEncoded: false)
}
