import Foundation
import Glibc
import Testing

extension MountedTests {
    @Suite
    struct `Deletions in bulk` {
        private static let names = (0..<200).map { String($0 + 1000) }
        private static let deleted = Array(names.prefix(150))
        private static let kept = Array(names.dropFirst(150))

        @Test(.timeLimit(.minutes(2)))
        func `here rest for a minute, and go out at once when they are confirmed`() throws {
            try withManyFiles { folder in
                try Program.start(["rm", "-rf"] + Self.deleted.map { folder.local("many/\($0)") })
                    .wait().expectSuccess()
                #expect(try Files.names(in: folder.local("many")) == Self.kept)
                try eventually("the status says that they rest") {
                    let errors = try folder.report().items.compactMap(\.error)
                    return errors.contains {
                        $0.why.contains("minute")
                            && $0.remedy?.contains("apus confirm-deletions") == true
                    }
                }
                let report = try folder.report()
                #expect(report.counts.pending >= 150 && report.counts.deletions >= 150)
                let deletions = report.items.count { $0.operation == "delete" }
                #expect(deletions == report.counts.deletions)
                #expect(try Files.names(in: folder.remote("many")) == Self.names)
                // Other changes do not wait with them.
                try Files.write([1], to: folder.local("other"))
                try eventually("another change is on the remote") {
                    Files.exists(folder.remote("other"))
                }
                #expect(try Files.names(in: folder.remote("many")).count == 200)

                let confirmed = try Program.require(
                    Apus.path, "confirm-deletions", folder.point)
                #expect(confirmed.contains("150"), "\(confirmed)")
                try folder.sync()
                #expect(try Files.names(in: folder.remote("many")) == Self.kept)
                #expect(try folder.report().items.isEmpty)
            }
        }

        /// Removes files on the remote while the daemon stands still, so that no listing sees only some of
        /// them gone.
        private func removeAtOnce(_ names: [String], _ folder: MountedFolder) throws {
            let process = try #require(folder.daemon)
            kill(process, SIGSTOP)
            defer { kill(process, SIGCONT) }
            for name in names { try Files.unlink(folder.remote("many/\(name)")) }
        }

        @Test(.timeLimit(.minutes(2)))
        func `on the remote are held until confirmed, and what was here goes to the trash`() throws
        {
            try withManyFiles { folder in
                for name in Self.deleted.prefix(10) {
                    try Files.unlink(folder.remote("many/\(name)"))
                }
                // A few are no burst: whoever deletes a few means it.
                try eventually("the first few go") {
                    try Files.names(in: folder.local("many")).count == 190
                }
                let gone = Array(Self.deleted.dropFirst(10))
                let local = Array(gone.prefix(5))
                for name in local {
                    #expect(try Files.read(folder.local("many/\(name)")) == content(name))
                }
                try removeAtOnce(gone, folder)
                try eventually("the status lists what is held") {
                    let items = try folder.report().items
                    let held = items.filter {
                        $0.error?.remedy?.contains("apus confirm-deletions") == true
                    }
                    return held.count == gone.count
                }
                #expect(try Files.names(in: folder.local("many")) == gone + Self.kept)
                #expect(try Files.read(folder.local("many/\(local[0])")) == content(local[0]))
                // Nothing has put them back on the remote either.
                #expect(try Files.names(in: folder.remote("many")) == Self.kept)
                #expect(try folder.report().counts.pending == 0, "they are not changes to be sent")
                let words = "Every change is on the remote; \(gone.count) deletions there are held"
                let text = try Program.require(Apus.path, "status", folder.point)
                #expect(text.contains(words), "\(text)")
                #expect(text.split(separator: "\n").count < 12, "\(text)")
                #expect(text.contains("\(gone.count) items: many/"), "\(text)")
                let listed = try Program.require(Apus.path, "ls", folder.local("many"))
                let states = listed.split(separator: "\n").map { $0.split(separator: " ")[0] }
                #expect(states.count { $0 == "held" } == gone.count, "\(listed)")
                try Files.write([1], to: folder.local("other"))
                let sync = try Apus.run("sync", folder.point)
                #expect(sync.status == 0 && sync.output.contains(words), "\(sync)")
                let counts = sync.errors.split(separator: "\n").filter { $0.contains("change") }
                #expect(counts.allSatisfy { $0.hasPrefix("1 change ") }, "\(sync)")
                #expect(!sync.errors.contains("bulk deletion"), "\(sync)")

                let confirmed = try Program.require(
                    Apus.path, "confirm-deletions", folder.point)
                #expect(confirmed.contains("\(gone.count)"), "\(confirmed)")
                #expect(try Files.names(in: folder.local("many")) == Self.kept)
                try eventually("what was whole here is in the trash") {
                    try trash(folder).count == local.count
                }
                #expect(Set(try trash(folder)) == Set(local.map { content($0) }))
                try folder.sync()
                #expect(try folder.report().items.isEmpty)
                #expect(try Files.names(in: folder.remote("many")) == Self.kept)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `on the remote are undone if they are rejected, as far as the files are here`() throws
        {
            try withManyFiles { folder in
                let here = Self.deleted.dropFirst()
                for name in here { _ = try Files.read(folder.local("many/\(name)")) }
                try removeAtOnce(Self.deleted, folder)
                try eventually("all are held") { try folder.report().counts.held?.items == 150 }
                let missing = Self.deleted[0]
                let result = try Apus.run("confirm-deletions", "--reject", folder.point)
                #expect(result.status == 1)
                #expect(result.output.contains("149 items"), "\(result)")
                #expect(
                    result.errors.contains("1 file are on this machine: many/\(missing)"),
                    "\(result)")
                try folder.sync()
                #expect(try Files.names(in: folder.remote("many")) == Array(Self.names.dropFirst()))
                for name in here {
                    #expect(try Files.read(folder.remote("many/\(name)")) == content(name))
                }
                let held = try folder.report().items
                #expect(held.map(\.path) == ["many/\(missing)"])
                #expect(held.first?.error?.remedy?.contains("put it back on the remote") == true)
                try Files.write(content(missing), to: folder.remote("many/\(missing)"))
                try eventually("it is released") { try folder.report().items.isEmpty }
                #expect(try Files.read(folder.local("many/\(missing)")) == content(missing))
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `here are undone if they are rejected`() throws {
            try withManyFiles { folder in
                try Program.start(["rm", "-r", folder.local("many")]).wait().expectSuccess()
                try eventually("the status says that they rest") {
                    try folder.report().items.contains { $0.error?.why.contains("minute") == true }
                }
                let undone = try Program.require(
                    Apus.path, "confirm-deletions", "--reject", folder.point)
                #expect(undone.contains("201 items"), "\(undone)")
                try folder.sync()
                #expect(try Files.names(in: folder.local("many")) == Self.names)
                for name in Self.names {
                    #expect(try Files.read(folder.local("many/\(name)")) == content(name))
                }
                #expect(try Files.names(in: folder.remote("many")) == Self.names)
            }
        }

        /// The contents of what is kept in the trash.
        private func trash(_ folder: MountedFolder) throws -> [[UInt8]] {
            let trash = "\(folder.state)/trash"
            guard Files.exists(trash) else { return [] }
            return try Files.names(in: trash).map { try Files.read("\(trash)/\($0)") }
        }

        private func content(_ name: String) -> [UInt8] { Array("I am \(name)\n".utf8) }

        private func withManyFiles(_ body: (MountedFolder) throws -> Void) throws {
            var options = MountedFolder.Options()
            options.mount = ["--refresh", "1s"]
            try MountedFolder.with(options) { remote in
                try Files.makeDirectory(remote + "/many")
                for name in Self.names {
                    try Files.write(content(name), to: "\(remote)/many/\(name)")
                }
            } _: { folder in
                #expect(try Files.names(in: folder.local("many")) == Self.names)
                try body(folder)
            }
        }
    }
}
