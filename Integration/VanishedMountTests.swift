import Glibc
import Testing

extension MountedTests {
    @Suite
    struct `A mount that went away` {
        /// How it did.
        enum End: String, CaseIterable, CustomTestStringConvertible {
            /// The daemon was killed; its mount is still in the way.
            case killed
            /// And then somebody took the dead mount away.
            case killedAndDetached

            var testDescription: String { rawValue }
        }

        /// Writes as programs do that know nothing of mounts, once they are told to go on by a line
        /// in the pipe; prints the exit status of each attempt.
        private static let script = """
            cd "$1" || exit 99
            exec 3>> log
            echo before >&3
            echo > "$2/ready"
            read line < "$2/pipe"
            echo later > relative; a=$?
            echo later > "$1/absolute"; b=$?
            echo later >> log; c=$?
            echo later >&3; d=$?
            mkdir directory; e=$?
            mkdir "$1/directory"; f=$?
            cp "$2/ready" "$1/copy"; g=$?
            dd if="$2/ready" of="$1/dd" status=none; h=$?
            echo "$a $b $c $d $e $f $g $h"
            """

        /// Goal: whoever goes on writing is told, and nothing of it lies beneath the next mount.
        @Test(.timeLimit(.minutes(2)), arguments: End.allCases)
        func `takes no more writes, of whomever and by whatever path`(_ end: End) throws {
            try MountedFolder.with { folder in
                try Program.require("mkfifo", "\(folder.base)/pipe")
                let program = try Program.start([
                    "sh", "-c", Self.script, "sh", folder.point, folder.base,
                ])
                try eventually("the program works in the mount") {
                    Files.exists("\(folder.base)/ready")
                }
                try folder.killDaemon()
                if end == .killedAndDetached {
                    try Program.require("fusermount3", "-uz", folder.point)
                    #expect(try Files.names(in: folder.point).isEmpty)
                }
                try Files.append("go\n", to: "\(folder.base)/pipe")
                let result = try program.wait()
                let statuses = result.output.split(whereSeparator: \.isWhitespace)
                #expect(statuses.count == 8 && !statuses.contains("0"), "\(result)")

                if end == .killed { try Program.require("fusermount3", "-uz", folder.point) }
                #expect(try Files.names(in: folder.point).isEmpty, "beneath the mount")
                try folder.mount()
                #expect(try Files.names(in: folder.point) == ["log"])
                #expect(try Files.read(folder.local("log")) == Array("before\n".utf8))
                // And the mount itself is as good as ever.
                try Files.write([1], to: folder.local("new"))
                try folder.sync()
                #expect(try Files.names(in: folder.remote) == ["log", "new"])
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `stays protected over the next mounts, until one ends as it should`() throws {
            try MountedFolder.with { folder in
                for round in 0..<2 {
                    try folder.killDaemon()
                    try Program.require("fusermount3", "-uz", folder.point)
                    let attempt = try Program.run(
                        "sh", "-c", "echo later > \"$1/later\"", "sh", folder.point)
                    #expect(attempt.status != 0, "round \(round): \(attempt)")
                    #expect(try Files.names(in: folder.point).isEmpty)
                    try folder.mount()
                }
                let mode = try Files.status(folder.base).st_mode & 0o777
                try folder.unmount()
                // As it was made by the test.
                #expect(try Files.status(folder.point).st_mode & 0o777 == 0o755, "\(mode)")
                try Files.write([1], to: folder.local("mine"))
                try Files.unlink(folder.local("mine"))
            }
        }
    }
}
