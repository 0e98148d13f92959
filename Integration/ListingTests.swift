import Glibc
import Testing

extension MountedTests {
    @Suite
    struct `Listing a large directory` {
        /// Long enough that the names of one directory come from the kernel in many pieces.
        private func name(_ kind: String, _ number: Int) -> String {
            "\(kind)-\(number)-" + String(repeating: "x", count: 120)
        }

        @Test(.timeLimit(.minutes(3)))
        func `entries that stay are listed once while others come and go`() throws {
            let staying = (0..<2000).map { name("stays", $0) }
            try MountedFolder.with { remote in
                try Files.makeDirectory(remote + "/large")
                for name in staying { try Files.write([], to: "\(remote)/large/\(name)") }
                for number in 0..<200 {
                    try Files.write([], to: "\(remote)/large/" + name("goes", number))
                }
            } _: { folder in
                let large = folder.local("large")
                let listing = try OpenDirectory(large)
                var seen: [String: Int] = [:]
                var step = 0
                while let found = try listing.next() {
                    seen[found, default: 0] += 1
                    if step < 2000, step.isMultiple(of: 10) {
                        try Files.write([], to: "\(large)/" + name("comes", step))
                        try Files.unlink("\(large)/" + name("goes", step / 10))
                    }
                    step += 1
                }

                #expect(staying.filter { seen[$0] == nil } == [], "missed")
                #expect(seen.filter { $0.value > 1 }.map(\.key) == [], "listed twice")
                let afterwards = try Files.names(in: large)
                #expect(afterwards.count == 2200)
            }
        }

        @Test(.timeLimit(.minutes(3)))
        func `a place in a listing stays valid after what was before it is gone`() throws {
            let names = (0..<1000).map { name("file", $0) }
            try MountedFolder.with { remote in
                for name in names { try Files.write([], to: "\(remote)/\(name)") }
            } _: { folder in
                let listing = try OpenDirectory(folder.point)
                var before: [String] = []
                for _ in 0..<500 { before.append(try #require(try listing.next())) }
                let place = listing.place
                var after: [String] = []
                while let name = try listing.next() { after.append(name) }

                for name in before { try Files.unlink(folder.local(name)) }
                listing.seek(to: place)
                var again: [String] = []
                while let name = try listing.next() { again.append(name) }

                #expect(Set(again) == Set(after))
                #expect(again.count == after.count)
            }
        }

        /// Goal: neither the listing nor an invalidation that waits for it delays other programs.
        ///
        /// Method: each page of a thousand names takes 2 s, and `ls` waits for all of them.
        @Test(.timeLimit(.minutes(3)))
        func `single names are found while the first listing is in progress`() throws {
            var options = MountedFolder.Options()
            options.source = "latency=2s"
            try MountedFolder.with(options) { remote in
                try Files.makeDirectory(remote + "/large")
                for number in 0..<9_500 { try Files.write([], to: "\(remote)/large/\(number)") }
                try Files.write([1, 2], to: "\(remote)/large/wanted")
            } _: { folder in
                let large = folder.local("large")
                let listing = try Program.start(["ls", "-f", large])
                #expect(try Files.status(large + "/wanted").st_size == 2)
                #expect(try Files.read(large + "/wanted") == [1, 2])
                expectFailure(ENOENT) { () throws(CallError) in
                    _ = try Files.status(large + "/none")
                }
                try Files.write([3], to: folder.remote("large/none"))
                #expect(try Files.status(large + "/none").st_size == 1)
                #expect(listing.isRunning, "it took as long as the listing")
                let result = try listing.wait()
                result.expectSuccess()
                let names = Set(result.output.split(separator: "\n"))
                #expect(names.contains("wanted") && names.contains("none"))
                #expect(names.count >= 9_502)
            }
        }
    }
}
