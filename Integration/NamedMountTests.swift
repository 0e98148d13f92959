import Foundation
import Glibc
import Testing

extension MountedTests {
    /// Mounts of a configuration file, mounted by their names.
    @Suite(.timeLimit(.minutes(3)))
    struct `A named mount` {
        /// The variables of a user whose configuration is below the folder's base.
        private static func environment(_ folder: MountedFolder) -> [String: String] {
            [
                "HOME": folder.base, "XDG_CONFIG_HOME": "\(folder.base)/config",
                "XDG_STATE_HOME": "\(folder.base)/states",
            ]
        }

        private static func configure(_ folder: MountedFolder, _ text: String) throws {
            try Program.require("mkdir", "-p", "\(folder.base)/config/apus")
            try Files.write(Array(text.utf8), to: "\(folder.base)/config/apus/config.toml")
        }

        private static func apus(
            _ folder: MountedFolder, _ arguments: String...
        ) throws -> Program.Result {
            try Apus.run(arguments, environment: environment(folder))
        }

        private static func daemonArguments(_ folder: MountedFolder) throws -> [String] {
            let process = try #require(folder.daemon)
            let bytes = try OpenFile("/proc/\(process)/cmdline", O_RDONLY).read(1 << 16)
            return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        }

        @Test func `has the options of the file, and those of the command line win`() throws {
            let folder = try MountedFolder()
            defer { folder.remove() }
            try Self.configure(
                folder,
                """
                [defaults]
                refresh = "7m"
                cache-size = "100MiB"
                memory = "32MiB"
                exec = false
                [mount.photos]
                source = "folder:remote"
                path = "~/mount"
                state-dir = "state"
                cache-size = "200MiB"
                keep-free = "3%"
                exclude = [".DS_Store", "~$*"]
                scanner = ["one", "two"]
                read-only = true
                offline = "wait"
                umask = "027"
                uid = 12
                gid = "13"
                contain-symlinks = false
                """)
            try Self.apus(folder, "mount", "photos").expectSuccess()
            let words = try Self.daemonArguments(folder).joined(separator: " ")
            for option in [
                "--refresh 420000ms", "--cache-size 209715200", "--memory 33554432", "--no-exec",
                "--keep-free 3%", "--exclude=.DS_Store", "--exclude=~$*", "--read-only",
                "--scanner=one", "--scanner=two",
                "--offline wait", "--umask 27", "--uid 12", "--gid 13", "--no-contain-symlinks",
                "-- folder:\(folder.remote) \(folder.point)",
            ] {
                #expect(words.contains(option), "\(option): \(words)")
            }
            try Self.apus(folder, "unmount", "photos").expectSuccess()
            #expect(!folder.isMounted)
            try Self.apus(
                folder, "mount", "photos", "--refresh=1m", "--no-read-only", "--exec",
                "--contain-symlinks", "--cache-size=300MiB"
            ).expectSuccess()
            let others = try Self.daemonArguments(folder).joined(separator: " ")
            for option in ["--refresh 60000ms", "--cache-size 314572800", "--offline wait"] {
                #expect(others.contains(option), "\(option): \(others)")
            }
            for option in ["--read-only", "--no-exec", "--no-contain-symlinks"] {
                #expect(!others.contains(option), "\(option): \(others)")
            }
        }

        @Test func `is listed with its condition, also if its source is mounted elsewhere`() throws
        {
            let folder = try MountedFolder()
            defer { folder.remove() }
            let other = "\(folder.base)/other"
            try Files.makeDirectory(other)
            try Self.configure(
                folder,
                """
                [mount.photos]
                source = "\(folder.source)"
                path = "\(folder.point)"
                state-dir = "\(folder.state)"
                [mount.second]
                source = "folder:\(folder.base)/none"
                path = "\(folder.point)"
                """)
            func conditions() throws -> [String] {
                let result = try Self.apus(folder, "mounts", "--json")
                struct Report: Decodable { let condition: String }
                return try JSONDecoder().decode([Report].self, from: Data(result.output.utf8))
                    .map(\.condition)
            }
            #expect(try conditions() == ["unmounted", "unmounted"])
            try Self.apus(folder, "mount", "photos", other).expectSuccess()
            let list = try Self.apus(folder, "mounts").output
            #expect(list.contains("photos: not mounted there, but on \(other)\n"), "\(list)")
            try Program.require(Apus.path, "unmount", other)
            try Self.apus(folder, "mount", "photos").expectSuccess()
            #expect(try conditions() == ["mounted", "occupied"])
            try folder.killDaemon()
            #expect(try conditions() == ["dead", "occupied"])
            try Self.apus(folder, "unmount", folder.point).expectSuccess()
        }

        @Test func `of a wrong file is not mounted`() throws {
            let folder = try MountedFolder()
            defer { folder.remove() }
            try Self.configure(
                folder,
                """
                [mount.photos]
                source = "\(folder.source)"
                path = "\(folder.point)"
                [mount.other]
                nonsense = 5
                """)
            let result = try Self.apus(folder, "mount", "photos")
            #expect(result.status == 1)
            #expect(result.errors.contains("config.toml, line 5: the mount other"), "\(result)")
            #expect(!folder.isMounted)

            // The units of systemd do not start it again.
            let service = try Self.apus(folder, "mount", "--foreground", "photos")
            #expect(service.status == 78, "\(service)")
            #expect(service.errors.contains("config.toml, line 5: the mount other"), "\(service)")
            #expect(service.errorLines.count == 1, "\(service)")
            try Self.configure(folder, "")
            #expect(try Self.apus(folder, "mount", "--foreground", "photos").status == 78)
            // A later start can find another world.
            try Self.configure(
                folder, "[mount.photos]\nsource = \"folder:/none\"\npath = \"\(folder.point)\"\n")
            #expect(try Self.apus(folder, "mount", "--foreground", "photos").status == 1)
        }

        /// Method: a mount namespace in which a file of the test stands for the system's, with an entry that
        /// the user's file has too.
        @Test(.enabled(if: geteuid() == 0, "only root can make a mount namespace"))
        func `of the system's file is found, unless the user's has the same name`() throws {
            let folder = try MountedFolder()
            defer { folder.remove() }
            try Self.configure(folder, "[mount.a]\nsource = \"folder:/user\"\npath = \"/a\"\n")
            func list(_ text: String) throws -> Program.Result {
                try Files.write(Array(text.utf8), to: "\(folder.base)/config.toml")
                return try Program.start(
                    [
                        "unshare", "--mount", "--propagation", "private", "sh", "-ec",
                        """
                        mkdir -p "$1/etc/apus" "$1/work"
                        mount -t overlay -o "lowerdir=$1/etc:/etc" overlay /etc
                        mount -t tmpfs tmpfs /etc/apus
                        cp "$1/config.toml" /etc/apus
                        "$2" mounts
                        """, "sh", folder.base, Apus.path,
                    ], environment: Self.environment(folder)
                ).wait()
            }
            let system = """
                [mount.a]
                source = "folder:/system"
                path = "/a"
                [mount.b]
                source = "folder:/system"
                path = "/b"
                """
            let both = try list(system)
            both.expectSuccess()
            #expect(both.output.contains("folder:/user on /a"), "\(both)")
            #expect(both.output.contains("b: not mounted\n  folder:/system on /b"), "\(both)")
            let secret = try list("[[credentials]]\nbearer = \"hush\"\n")
            #expect(secret.status == 1 && !secret.errors.contains("hush"))
            #expect(secret.errors.contains("read /etc/apus/config.toml, line 1:"), "\(secret)")
            #expect(secret.errors.contains("~/.config/apus/config.toml"), "\(secret)")
        }
    }
}
