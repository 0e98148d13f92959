import Foundation
import Glibc
import TestBytes
import Testing

extension MountedTests {
    @Suite
    struct `A directory that is renamed` {
        private static let slow: MountedFolder.Options = {
            var options = MountedFolder.Options()
            options.source = "latency=10ms&rate=2MiB"
            return options
        }()

        /// When, of the upload of what is in it.
        enum Moment: String, CaseIterable, CustomTestStringConvertible {
            case before, during, amidAKill

            var testDescription: String { rawValue }
        }

        @Test(.timeLimit(.minutes(2)), arguments: Moment.allCases)
        func `takes along what is not uploaded yet`(_ moment: Moment) throws {
            try MountedFolder.with(Self.slow) { folder in
                try Files.makeDirectory(folder.local("old"))
                try Files.makeDirectory(folder.local("old/below"))
                var expected = TreeContents()
                expected.nodes["new"] = .directory
                expected.nodes["new/below"] = .directory
                for number in 0..<20 {
                    let place = number.isMultiple(of: 2) ? "below/\(number)" : "\(number)"
                    let bytes = TestBytes.random(
                        number == 0 ? 4 << 20 : number * 1000, seed: UInt64(number))
                    try Files.write(bytes, to: folder.local("old/\(place)"))
                    expected.nodes["new/\(place)"] = .file(bytes)
                }
                if moment == .during {
                    try eventually("uploading") {
                        try folder.state(of: "old/below/0") == "uploading"
                    }
                }
                try Files.rename(folder.local("old"), to: folder.local("new"))
                if moment == .amidAKill {
                    try folder.killDaemon()
                    try folder.remount()
                }

                #expect(!Files.exists(folder.local("old")))
                let local = try TreeContents(of: folder.point)
                #expect(expected.differences(from: local) == [], "right after the rename")
                try folder.sync()
                let remote = try TreeContents(of: folder.remote)
                #expect(expected.differences(from: remote) == [], "on the remote")
                let settled = try TreeContents(of: folder.point)
                #expect(expected.differences(from: settled) == [], "after the sync")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `again and again, while its files are written and sent, ends under its last name`()
            throws
        {
            try MountedFolder.with(Self.slow) { folder in
                var name = "name-0"
                try Files.makeDirectory(folder.local(name))
                try Files.makeDirectory(folder.local("parent"))
                var expected = TreeContents()
                for number in 1...12 {
                    let bytes = TestBytes.random(200_000, seed: UInt64(number))
                    try Files.write(bytes, to: folder.local("\(name)/\(number)"))
                    // Not waiting for it to end: to hit it under way, if it is.
                    if number.isMultiple(of: 4) {
                        try eventually("something is on the remote") {
                            // While it is renamed there, a walk of it may fail.
                            (try? TreeContents(of: folder.remote))?.files.isEmpty == false
                        }
                    }
                    let next = (number.isMultiple(of: 3) ? "parent/" : "") + "name-\(number)"
                    try Files.rename(folder.local(name), to: folder.local(next))
                    name = next
                    expected.nodes["\(number)"] = .file(bytes)
                }
                #expect(
                    expected.differences(from: try TreeContents(of: folder.local(name))) == [])
                try folder.sync()
                let remote = try TreeContents(of: folder.remote)
                let parent = remote.nodes.keys.filter { !$0.hasPrefix(name) }
                #expect(Set(parent) == ["parent"])
                #expect(
                    expected.differences(from: try TreeContents(of: folder.remote(name))) == [])
            }
        }
    }
}
