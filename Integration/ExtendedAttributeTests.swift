import CLinux
import Glibc
import Testing

extension MountedTests {
    @Suite(.timeLimit(.minutes(3)))
    struct `Extended attributes` {
        private func refuses(
            _ code: CInt, sourceLocation: SourceLocation = #_sourceLocation,
            _ call: () throws(CallError) -> Void
        ) {
            do throws(CallError) {
                try call()
                Issue.record("it is not refused", sourceLocation: sourceLocation)
            } catch {
                #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
            }
        }

        /// Programs that copy extended attributes, rsync if it is there.
        private static let programs =
            [["cp", "-a"]] + (access("/usr/bin/rsync", X_OK) == 0 ? [["rsync", "-aX"]] : [])

        @Test func `are set, told and removed as xattr(7) has it`() throws {
            try MountedFolder.with { folder in
                let file = folder.local("file")
                try Files.write([1], to: file)
                try Files.makeDirectory(folder.local("directory"))
                try Files.link("file", at: folder.local("link"))
                for path in [file, folder.local("directory")] {
                    try Files.setAttribute("user.a", to: [1, 0, 0xFF], of: path)
                    try Files.setAttribute("user.b", to: [], of: path)
                    #expect(try Files.attributeNames(of: path) == ["user.a", "user.b"])
                    #expect(try Files.attribute("user.a", of: path) == [1, 0, 0xFF])
                    #expect(try Files.attribute("user.b", of: path) == [])
                }
                refuses(EEXIST) { () throws(CallError) in
                    try Files.setAttribute("user.a", to: [], flags: Int(XATTR_CREATE), of: file)
                }
                refuses(ENODATA) { () throws(CallError) in
                    try Files.setAttribute("user.c", to: [], flags: Int(XATTR_REPLACE), of: file)
                }
                try Files.setAttribute("user.a", to: [2], flags: Int(XATTR_REPLACE), of: file)
                try Files.removeAttribute("user.b", of: file)
                #expect(try Files.attributeNames(of: file) == ["user.a"])
                refuses(ENODATA) { () throws(CallError) in
                    try Files.removeAttribute("user.b", of: file)
                }
                refuses(ENODATA) { () throws(CallError) in
                    _ = try Files.attribute("user.b", of: file)
                }
                refuses(EPERM) { () throws(CallError) in
                    try Files.setAttribute("user.apus.state", to: [1], of: file)
                }
                for name in ["trusted.a", "security.selinux"] {
                    refuses(EOPNOTSUPP) { () throws(CallError) in
                        try Files.setAttribute(name, to: [1], of: file)
                    }
                    refuses(EOPNOTSUPP) { () throws(CallError) in
                        _ = try Files.attribute(name, of: file)
                    }
                }
                refuses(ENODATA) { () throws(CallError) in
                    _ = try Files.attribute("security.capability", of: file)
                }
                #expect(getxattr(file, "security.evm", nil, 0) == -1 && errno == ENODATA)
                refuses(E2BIG) { () throws(CallError) in
                    try Files.setAttribute(
                        "user.c", to: [UInt8](repeating: 0, count: 65_537), of: file)
                }
                var byte: UInt8 = 0
                try Files.setAttribute("user.a", to: [1, 2], of: file)
                #expect(getxattr(file, "user.a", &byte, 1) == -1 && errno == ERANGE)
                #expect(getxattr(file, "user.a", nil, 0) == 2)
                #expect(
                    lsetxattr(folder.local("link"), "user.a", [1], 1, 0) == -1 && errno == EPERM)
            }
        }

        @Test func `are those of the files in the folder, both ways`() throws {
            var options = MountedFolder.Options()
            options.mount = ["--refresh", "1s"]
            try MountedFolder.with(options) { folder in
                try Files.write([1], to: folder.local("file"))
                try Files.setAttribute("user.ours", to: [1], of: folder.local("file"))
                // Who may not write may not set attributes; those set before go along.
                try Files.setMode(0o400, of: folder.local("file"))
                try folder.sync()
                #expect(try Files.attribute("user.ours", of: folder.remote("file")) == [1])
                #expect(try Files.status(folder.remote("file")).st_mode & 0o7777 == 0o400)
                try Files.setAttribute("user.theirs", to: [2], of: folder.remote("file"))
                try Files.removeAttribute("user.ours", of: folder.remote("file"))
                try eventually("the change is here") {
                    try Files.attributeNames(of: folder.local("file")) == ["user.theirs"]
                }
                #expect(try Files.attribute("user.theirs", of: folder.local("file")) == [2])
            }
        }

        @Test(arguments: [CloudKind.folder, .webdav, .s3], programs)
        func `are kept by programs that copy, and found by a cold mount`(
            cloud: CloudKind, program: [String]
        ) async throws {
            try await cloud.with(MountedFolder.Options()) { folder, _ in
                let original = "\(folder.base)/original"
                try Files.makeDirectory(original)
                try Files.write([1, 2, 3], to: "\(original)/file")
                try Files.setAttribute("user.note", to: [1], of: original)
                try Files.setAttribute("user.name, \"b\"", to: [0, 0xFF], of: "\(original)/file")
                try Files.setAttribute("user.empty", to: [], of: "\(original)/file")
                try Program.require(program[0], program[1], original, folder.point)
                try folder.unmount()
                try Program.require("rm", "-rf", folder.state)
                try folder.mount()
                let copy = folder.local("original")
                #expect(try Files.attributeNames(of: copy) == ["user.note"])
                #expect(try Files.attribute("user.note", of: copy) == [1])
                #expect(
                    try Files.attributeNames(of: "\(copy)/file")
                        == ["user.empty", "user.name, \"b\""])
                #expect(
                    try Files.attribute("user.name, \"b\"", of: "\(copy)/file") == [0, 0xFF])
                // A change of the bytes, or of the name, leaves them.
                try Files.append("4", to: "\(copy)/file")
                try Files.rename("\(copy)/file", to: "\(copy)/renamed")
                try folder.unmount()
                try Program.require("rm", "-rf", folder.state)
                try folder.mount()
                #expect(try Files.attribute("user.empty", of: "\(copy)/renamed") == [])
                #expect(try Files.read("\(copy)/renamed") == [1, 2, 3, 0x34])
            }
        }

        @Test func `are refused where the store has no room for them`() async throws {
            try await CloudKind.s3.with(MountedFolder.Options()) { folder, _ in
                try Files.write([1], to: folder.local("file"))
                try Files.setAttribute(
                    "user.a", to: [UInt8](repeating: 1, count: 1_000), of: folder.local("file"))
                refuses(ENOSPC) { () throws(CallError) in
                    try Files.setAttribute(
                        "user.b", to: [UInt8](repeating: 1, count: 1_000), of: folder.local("file"))
                }
                try folder.sync()
                #expect(try Files.attributeNames(of: folder.local("file")) == ["user.a"])
            }
        }
    }
}
