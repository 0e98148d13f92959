import Glibc
import Testing

extension MountedTests {
    @Suite
    struct `Conflicts` {
        private static let mine = Array("mine".utf8)
        private static let theirs = Array("theirs, and longer".utf8)
        private static let refreshing: MountedFolder.Options = {
            var options = MountedFolder.Options()
            options.mount = ["--refresh", "1s"]
            return options
        }()

        struct Resolution: CustomTestStringConvertible, Sendable {
            let keep: String
            /// Whether it is our version that is named, or the remote's.
            let namesOurs: Bool

            var testDescription: String {
                "\(keep), by the name of \(namesOurs ? "our" : "the remote's") version"
            }
        }

        @Test(
            .timeLimit(.minutes(2)),
            arguments: [
                Resolution(keep: "mine", namesOurs: false),
                Resolution(keep: "theirs", namesOurs: false),
                Resolution(keep: "both", namesOurs: true),
            ])
        func `keep both versions until apus resolve decides, on both sides`(
            _ resolution: Resolution
        ) throws {
            try MountedFolder.with(Self.refreshing) { remote in
                try Files.makeDirectory(remote + "/folder")
                try Files.write(Array("base".utf8), to: remote + "/folder/plan.txt")
            } _: { folder in
                let copy = try makeConflict(folder)
                let both = ["plan.txt": Self.theirs, copy: Self.mine]
                let kept = "folder/" + (resolution.namesOurs ? copy : "plan.txt")
                let result = try Apus.run("resolve", folder.local(kept), "--keep", resolution.keep)
                #expect(result.status == 0, "\(result)")
                let expected: [String: [UInt8]] =
                    switch resolution.keep {
                    case "mine": ["plan.txt": Self.mine]
                    case "theirs": ["plan.txt": Self.theirs]
                    default: both
                    }
                // By its name alone: a listing would refresh the name that the kernel has cached for a
                // minute. The kernel learns of the change right after the answer.
                try eventually("the kernel forgets the old version", within: .seconds(10)) {
                    try Files.read(folder.local("folder/plan.txt")) == expected["plan.txt"]
                }
                try expect(expected, in: folder.local("folder"))
                try folder.sync()
                try expect(expected, in: folder.remote("folder"))
                try expect(expected, in: folder.local("folder"))
                #expect(try folder.report().items.isEmpty)
                try Apus.expectRefusal(
                    "resolve", folder.local("folder/plan.txt"), "--keep", "mine",
                    naming: "no conflict", "apus status")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `that a person settles by hand are none any more`() throws {
            try MountedFolder.with(Self.refreshing) { remote in
                try Files.makeDirectory(remote + "/folder")
                try Files.write(Array("base".utf8), to: remote + "/folder/plan.txt")
            } _: { folder in
                let copy = try makeConflict(folder)
                try Files.rename(
                    folder.local("folder/\(copy)"), to: folder.local("folder/plan.txt"))
                try folder.sync()
                try expect(["plan.txt": Self.mine], in: folder.remote("folder"))
                #expect(try folder.report().items.isEmpty)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `with a deletion on the remote bring the edited file back`() throws {
            try MountedFolder.with(Self.refreshing) { remote in
                for directory in ["kept", "deleted"] {
                    try Files.makeDirectory("\(remote)/\(directory)")
                    for name in ["edited", "untouched"] {
                        try Files.write(
                            Array("base".utf8), to: "\(remote)/\(directory)/\(name)")
                    }
                }
            } _: { folder in
                var handles: [OpenFile] = []
                for name in ["kept/edited", "deleted/edited"] {
                    #expect(try Files.read(folder.local(name)) == Array("base".utf8))
                    let handle = try OpenFile(folder.local(name), O_RDWR)
                    try handle.write(Self.mine)
                    handles.append(handle)
                }
                try Files.unlink(folder.remote("kept/edited"))
                try Program.require("rm", "-r", folder.remote("deleted"))
                for handle in handles { try handle.close() }

                try eventually("the remote has both again", within: .seconds(30)) {
                    Files.exists(folder.remote("kept/edited"))
                        && Files.exists(folder.remote("deleted/edited"))
                }
                try folder.sync()
                #expect(try Files.read(folder.remote("kept/edited")) == Self.mine)
                #expect(try Files.names(in: folder.remote("kept")) == ["edited", "untouched"])
                try eventually("only the edit comes back") {
                    try Files.names(in: folder.local("deleted")) == ["edited"]
                }
                #expect(try Files.names(in: folder.remote("deleted")) == ["edited"])
                #expect(try Files.read(folder.remote("deleted/edited")) == Self.mine)
                #expect(try folder.report().items.isEmpty)
                try expectEqualTrees(folder)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `with an edit on the remote bring back what was deleted here`() throws {
            try MountedFolder.with { remote in
                try Files.write(Array("base".utf8), to: remote + "/plan.txt")
            } _: { folder in
                #expect(try Files.names(in: folder.point) == ["plan.txt"])
                try Files.replace(folder.remote("plan.txt"), with: Self.theirs)
                try Files.unlink(folder.local("plan.txt"))
                try folder.sync()
                #expect(try Files.read(folder.remote("plan.txt")) == Self.theirs)
                #expect(try Files.read(folder.local("plan.txt")) == Self.theirs)
            }
        }

        /// Has both sides change one file.
        ///
        /// - Returns: The name of our version.
        private func makeConflict(_ folder: MountedFolder) throws -> String {
            let handle = try OpenFile(folder.local("folder/plan.txt"), O_RDWR)
            try handle.write(Self.mine)
            try Files.replace(folder.remote("folder/plan.txt"), with: Self.theirs)
            try handle.close()
            try folder.sync()
            let report = try folder.report()
            let conflict = try #require(report.conflicts.first, "\(report)")
            #expect(report.items.count == 1, "\(report)")
            #expect(conflict.conflictsWith == "folder/plan.txt")
            let copy = String(conflict.path.dropFirst("folder/".count))
            let expected = ["plan.txt": Self.theirs, copy: Self.mine]
            try expect(expected, in: folder.local("folder"))
            try expect(expected, in: folder.remote("folder"))
            return copy
        }

        private func expect(
            _ expected: [String: [UInt8]], in directory: String,
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let found = try TreeContents(of: directory)
            let wanted = expected.mapValues { TreeContents.Node.file($0) }
            #expect(found.nodes == wanted, sourceLocation: sourceLocation)
        }
    }
}
