import Foundation
import Glibc
import Testing

/// `make install` with the program of these tests, below a `DESTDIR`.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct InstallTests {
    private static let project = URL(filePath: #filePath)
        .appending(path: "../..").standardized.path()

    /// Installs into a new directory, removed after `body`.
    private func withInstallation(_ body: (_ root: String) throws -> Void) throws {
        let root = try Files.makeTemporaryDirectory("i")
        defer { _ = try? Program.run("rm", "-rf", root) }
        try make("install", into: root)
        try body(root)
    }

    private func make(_ target: String, into root: String) throws {
        try Program.require(
            "make", "--directory", Self.project, target, "PREFIX=/usr", "DESTDIR=\(root)",
            environment: ["APUS": Apus.path])
    }

    private func files(in root: String) throws -> [String] {
        let list = try Program.require("find", root, "!", "-type", "d", "-printf", "/%P\n")
        return list.split(separator: "\n").map(String.init).sorted()
    }

    @Test func `make uninstall removes all that make install has made`() throws {
        try withInstallation { root in
            let files = try files(in: root)
            for file in [
                "/usr/bin/apus", "/usr/libexec/apus/apus-image-worker", "/usr/sbin/mount.apus",
                "/usr/sbin/mount.fuse.apus",
                "/usr/share/man/man1/apus.1", "/usr/share/man/man1/apus-trash-restore.1",
                "/usr/share/man/man7/apus-sources.7", "/usr/share/man/man8/mount.apus.8",
                "/usr/share/bash-completion/completions/apus",
                "/usr/share/zsh/site-functions/_apus",
                "/usr/share/fish/vendor_completions.d/apus.fish",
                "/usr/share/doc/apus/LICENSE", "/usr/share/doc/apus/examples/config.toml",
                "/usr/share/man/man5/apus.5", "/usr/lib/systemd/user/apus@.service",
                "/usr/lib/systemd/system/apus-mount@.service",
            ] {
                #expect(files.contains(file))
            }
            let help = try Program.require("\(root)/usr/sbin/mount.fuse.apus", "--help")
            #expect(help.hasPrefix("Usage: mount.apus"))
            try make("uninstall", into: root)
            #expect(try self.files(in: root) == [])
        }
    }

    @Test func `the archive of make dist holds the same files`() throws {
        try withInstallation { root in
            let files = try files(in: root)
            try Program.require(
                Self.project + "packaging/build-dist",
                environment: [
                    "APUS": Apus.path, "PREFIX": "/usr", "OUTPUT": "\(root)/out",
                ])
            let archives = try Files.names(in: "\(root)/out")
            #expect(archives.count == 1 && archives[0].hasPrefix("apus-"), "\(archives)")
            let list = try Program.require("tar", "-tf", "\(root)/out/\(archives[0])")
            #expect(list.split(separator: "\n").map { "/\($0)" }.sorted() == files)
        }
    }

    @Test func `each command has a manual page, and man warns of none`() throws {
        try withInstallation { root in
            let pages = try files(in: root).filter { $0.hasPrefix("/usr/share/man/") }
            let commands = try Self.commands()
            #expect(commands.contains("mount") && commands.contains("trash"))
            for command in commands {
                #expect(pages.contains("/usr/share/man/man1/apus-\(command).1"), "\(command)")
            }
            for page in pages {
                let result = try Program.run(
                    "man", "--warnings", "-E", "UTF-8", "--local-file", root + page,
                    environment: [
                        "MANWIDTH": "80", "LC_ALL": "C.UTF-8", "MANPATH": root + "/usr/share/man",
                    ])
                #expect(result.status == 0 && result.errors == "", "\(page): \(result)")
                #expect(result.output.contains("EXAMPLES"), "\(page)")
            }
        }
    }

    @Test func `the example of the configuration file is valid`() throws {
        try withInstallation { root in
            try Program.require("mkdir", "-p", "\(root)/config/apus")
            let example = "\(root)/usr/share/doc/apus/examples/config.toml"
            try Program.require("cp", example, "\(root)/config/apus/config.toml")
            let result = try Apus.run(
                ["mounts"], environment: ["XDG_CONFIG_HOME": "\(root)/config"])
            result.expectSuccess()
            #expect(result.output.contains("photos: not mounted"), "\(result)")
        }
    }

    /// Verified as systemd itself reads them, without running it.
    @Test(.enabled(if: Self.canVerify, "there is no systemd-analyze"))
    func `the units are valid, and start the installed program`() throws {
        try withInstallation { root in
            for (manager, template) in [("user", "apus@"), ("system", "apus-mount@")] {
                let unit = "\(root)/usr/lib/systemd/\(manager)/\(template).service"
                let text = String(decoding: try Files.read(unit), as: UTF8.self)
                #expect(text.contains("\nExecStart=/usr/bin/apus mount --foreground %i\n"))
                #expect(text.contains("\nRestartPreventExitStatus=2 78\n"))
                // The program is not where the unit will find it.
                let copy = "\(root)/\(template)photos.service"
                let here = text.replacing("/usr/bin/apus", with: "\(root)/usr/bin/apus")
                try Files.write(Array(here.utf8), to: copy)
                let result = try Program.run(
                    "systemd-analyze", "verify", "--man=no", "--\(manager)", copy,
                    environment: ["XDG_RUNTIME_DIR": root])
                result.expectSuccess()
                #expect(!result.errors.contains(template), "\(result)")
            }
        }
    }

    private static var canVerify: Bool {
        (try? Program.run("which", "systemd-analyze").status) == 0
    }

    /// The names of all commands, from the help.
    private static func commands() throws -> [Substring] {
        let lines = try Apus.run("--help").output.split(separator: "\n")
        return lines.drop { $0 != "SUBCOMMANDS:" }
            .filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
            .compactMap { $0.split(whereSeparator: { $0 == " " || $0 == "," }).first }
            .filter { $0 != "See" }
    }

    @Test(arguments: [
        ("apus unm", "unmount"), ("apus sync --time", "--timeout"), ("apus apply se", "sepia"),
        ("apus mount --offline wa", "wait"), ("apus trash res", "restore"),
        ("apus ls @/alph", "@/alpha"), ("apus unmount @/alph", "@/alpha"),
        ("apus mount phot", "photos"), ("apus mounts enable phot", "photos"),
    ])
    func `shells complete commands, options, filters and paths`(
        line: String, completion: String
    ) throws {
        try withInstallation { root in
            try Files.makeDirectory("\(root)/alpha")
            try Program.require("mkdir", "-p", "\(root)/config/apus")
            let mount = "[mount.photos]\nsource = \"folder:/x\"\npath = \"/y\"\n"
            try Files.write(Array(mount.utf8), to: "\(root)/config/apus/config.toml")
            let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
            // The scripts ask the program for names of mounts.
            let environment = [
                "XDG_CONFIG_HOME": "\(root)/config", "PATH": "\(root)/usr/bin:\(path)",
            ]
            let (line, completion) = (
                line.replacing("@", with: root), completion.replacing("@", with: root)
            )
            for (shell, script) in Self.shells where hasProgram(shell) {
                let result = try Program.run(
                    shell, "-c", script, root, line, environment: environment)
                #expect(result.status == 0, "\(result)")
                let words = result.output.split(whereSeparator: \.isWhitespace)
                    .map { $0.hasSuffix("/") ? $0.dropLast() : $0 }
                #expect(words.contains(completion[...]), "\(shell): \(line): \(result)")
            }
        }
    }

    private func hasProgram(_ name: String) -> Bool {
        (try? Program.run("which", name).status) == 0
    }

    /// Scripts that print completions of the line `$1`, with what is installed below `$0`.
    private static let shells = [
        (
            "bash",
            """
            shopt -s extglob
            source "$0/usr/share/bash-completion/completions/apus"
            read -ra COMP_WORDS <<< "$1"
            COMP_LINE=$1 COMP_POINT=${#1} COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            [[ $(complete -p apus) =~ -F\\ ([^ ]+) ]]
            "${BASH_REMATCH[1]}" apus "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        ),
        (
            "fish",
            """
            source $argv[1]/usr/share/fish/vendor_completions.d/apus.fish
            complete -C $argv[2]
            """
        ),
        // A shell of its own on a pseudo-terminal, which completes the line and then prints it.
        (
            "zsh",
            """
            zmodload zsh/zpty
            zpty shell zsh -f -i
            zpty -w shell "PS1= RPS1= fpath=($0/usr/share/zsh/site-functions \\$fpath)"
            zpty -w shell "autoload -U compinit && compinit -u -D"
            zpty -w shell "zstyle ':completion:*' insert-tab false; print READY-\\$((1))"
            zpty -r shell output '*READY-1*'
            zpty -w -n shell "$1"$'\\t\\C-aprint -r -- \\C-m'
            zpty -w shell "print READY-\\$((2))"
            zpty -r shell output '*READY-2*'
            print -r -- $output
            """
        ),
    ]
}
