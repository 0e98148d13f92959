import Glibc
import Testing

extension MountedTests {
    @Suite(.timeLimit(.minutes(3)))
    struct `Owners and permissions that are shown` {
        /// Goal: a mount that root makes for a user, as from fstab, is that user's.
        @Test
        func `are those of the options, and let that user write`() throws {
            var options = MountedFolder.Options()
            let (user, group) =
                geteuid() == 0 ? ("nobody", "65534") : ("\(geteuid())", "\(getegid())")
            options.mount = ["--uid", user, "--gid", group, "--umask", "027"]
            if geteuid() == 0 { options.mount.append("--allow-other") }
            try MountedFolder.with(options) { remote in
                try Files.write([1], to: "\(remote)/there")
                try Files.setMode(0o644, of: "\(remote)/there")
            } _: { folder in
                try Files.setMode(0o755, of: folder.base)
                let place = "\(folder.base)/user"
                try Files.makeDirectory(place)
                let user = try OrdinaryUser(directory: place)
                let there = try Files.status(folder.local("there"))
                #expect(there.st_uid == user.userID)
                #expect("\(there.st_gid)" == group)
                #expect(there.st_mode & 0o777 == 0o640)
                #expect(try Files.status(folder.point).st_mode & 0o777 == 0o750)
                let script =
                    "printf x > \"$0/new\" && printf y >> \"$0/there\" && chmod 600 \"$0/there\""
                try user.run(["sh", "-c", script, folder.point], environment: [:]).expectSuccess()
                #expect(try Files.status(folder.local("new")).st_uid == user.userID)
                #expect(try Files.status(folder.local("there")).st_mode & 0o777 == 0o600)
                try folder.sync()
                #expect(try Files.status(folder.remote("there")).st_mode & 0o777 == 0o600)
                #expect(try Files.read(folder.remote("there")) == [1] + Array("y".utf8))
            }
        }
    }
}
