import Foundation
import Glibc
import TestBytes
import Testing

extension MountedTests {
    @Suite
    struct `Pinned files` {
        private static func options(_ mount: String...) -> MountedFolder.Options {
            var options = MountedFolder.Options()
            options.mount = ["--refresh", "1s"] + mount
            return options
        }

        private static func makeSparse(_ bytes: Int, _ path: String) throws {
            try Files.write([], to: path)
            try CallError.check(truncate(path, bytes), "truncate \(path)")
        }

        private static func awaitWhole(_ folder: MountedFolder, items: Int = 1) throws {
            try eventually("everything that is pinned is here") {
                guard let pins = try folder.report().pins else { return false }
                return pins.items == items && pins.isWhole
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `that do not fit are refused with both sizes, and nothing is fetched`() throws {
            let options = Self.options("--cache-size", "500MiB")
            try MountedFolder.with(options) { remote in
                try Files.makeDirectory("\(remote)/Photos")
                for index in 0..<100 {
                    try Self.makeSparse(10 << 20, "\(remote)/Photos/\(index)")
                }
            } _: { folder in
                try Apus.expectRefusal(
                    "pin", folder.local("Photos"), naming: "1000 MiB", "500 MiB", "--cache-size")
                #expect(try folder.report().pins == nil)
                let refused = #expect(throws: CallError.self) {
                    try Files.setAttribute("user.apus.pin", to: [0x31], of: folder.local("Photos"))
                }
                #expect(refused?.code == ENOSPC)
                #expect(try folder.report().pins == nil)
                let status = try Program.require(Apus.path, "status", folder.point)
                for words in ["Not pinned: Photos: ", "1000 MiB", "500 MiB", "--cache-size"] {
                    #expect(status.contains(words), "\(status)")
                }
                let log = try Program.require(Apus.path, "log", folder.point)
                #expect(log.contains("Pin refused"), "\(log)")
                #expect(log.contains("1048576000") && log.contains("524288000"), "\(log)")
                #expect(try folder.state(of: "Photos/0") == "remote")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `stay while more than the cache is read, and are not evicted`() throws {
            let options = Self.options("--cache-size", "64MiB")
            let bytes = TestBytes.random(5 << 20, seed: 3)
            try MountedFolder.with(options) { remote in
                try Files.makeDirectory("\(remote)/Photos")
                for name in ["a", "b"] { try Files.write(bytes, to: "\(remote)/Photos/\(name)") }
                for index in 0..<6 { try Self.makeSparse(20 << 20, "\(remote)/film\(index)") }
            } _: { folder in
                let result = try Apus.run("pin", folder.local("Photos"))
                #expect(result.status == 0 && result.output.contains("Pinned 2 files"), "\(result)")
                for name in ["a", "b"] {
                    #expect(try folder.state(of: "Photos/\(name)") == "local")
                }
                for index in 0..<6 {
                    #expect(try Files.read(folder.local("film\(index)")).count == 20 << 20)
                }
                for name in ["a", "b"] {
                    #expect(try folder.state(of: "Photos/\(name)") == "local")
                }
                #expect(try folder.state(of: "film0") == "remote", "the cache was not exceeded")

                try Apus.expectRefusal("evict", folder.point, naming: "Photos", "pinned", "unpin")
                try Apus.expectRefusal(
                    "evict", folder.local("Photos/a"), naming: "\"Photos\" is pinned")
                #expect(try folder.state(of: "Photos/a") == "local")
                try Apus.expectRefusal("unpin", folder.local("Photos/a"), naming: "with the folder")
                try Program.require(Apus.path, "unpin", folder.local("Photos"))
                try folder.evict("Photos")
                #expect(try folder.state(of: "Photos/a") == "remote")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `of another client arrive without being opened`() throws {
            let (old, new) = (
                TestBytes.random(3 << 20, seed: 1), TestBytes.random(70_000, seed: 2)
            )
            try MountedFolder.with(Self.options()) { remote in
                try Files.makeDirectory("\(remote)/Photos")
                try Files.write(old, to: "\(remote)/Photos/a")
            } _: { folder in
                try Program.require(Apus.path, "pin", folder.local("Photos"))
                #expect(try folder.state(of: "Photos/a") == "local")
                try Files.makeDirectory(folder.remote("Photos/new"))
                try Files.write(new, to: folder.remote("Photos/new/b"))
                try Files.write(new, to: folder.remote("Photos/a"))
                try eventually("the files are fetched") {
                    let pins = try folder.report().pins
                    return pins?.files == 2 && pins?.bytes == 2 * 73_728 && pins?.isWhole == true
                }
                for name in ["a", "new/b"] {
                    #expect(try folder.state(of: "Photos/\(name)") == "local")
                    #expect(try Files.read(folder.local("Photos/\(name)")) == new)
                }
            }
        }

        @Test(.timeLimit(.minutes(3)))
        func `are fetched to the end after a kill, and follow their name`() throws {
            var options = Self.options()
            options.source = "rate=2MiB"
            try MountedFolder.with(options) { remote in
                try Files.makeDirectory("\(remote)/Photos")
                try Files.write(TestBytes.random(12 << 20, seed: 5), to: "\(remote)/Photos/a")
            } _: { folder in
                try Program.require(Apus.path, "pin", "--no-wait", folder.local("Photos"))
                try eventually("some of it is here") {
                    guard let pins = try folder.report().pins else { return false }
                    return pins.counting == nil && pins.bytesMissing < 12 << 20
                }
                try folder.killDaemon()
                try folder.remount()
                #expect(try folder.report().pins?.items == 1)
                try Program.require(Apus.path, "pin", folder.local("Photos"))
                #expect(try folder.state(of: "Photos/a") == "local")
                try CallError.check(
                    rename(folder.local("Photos"), folder.local("Pictures")), "rename Photos")
                // It ends with 1 if there is a dead mount of another test.
                let list = try Apus.run("pin", "--json").output
                #expect(list.contains(folder.point) && list.contains("\"Pictures\""), "\(list)")
                try Apus.expectRefusal("evict", folder.local("Pictures"), naming: "pinned")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `are fetched without the command that has pinned them`() throws {
            var options = Self.options()
            options.source = "rate=2MiB"
            try MountedFolder.with(options) { remote in
                try Files.write(TestBytes.random(8 << 20, seed: 6), to: "\(remote)/a")
            } _: { folder in
                let command = try Apus.start(["pin", folder.local("a")])
                try eventually("it is pinned") { try folder.report().pins != nil }
                command.signal(SIGINT)
                let result = try command.wait()
                #expect(result.status == 128 + SIGINT, "\(result)")
                try Self.awaitWhole(folder)
                #expect(try folder.state(of: "a") == "local")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `can be chosen by an attribute that is not sent`() throws {
            let name = "user.apus.pin"
            try MountedFolder.with(Self.options()) { remote in
                try Files.makeDirectory("\(remote)/Photos")
                try Files.write([1, 2, 3], to: "\(remote)/Photos/a")
            } _: { folder in
                let photos = folder.local("Photos")
                let missing = #expect(throws: CallError.self) {
                    _ = try Files.attribute(name, of: photos)
                }
                #expect(missing?.code == ENODATA)
                try Program.require("setfattr", "-n", name, "-v", "1", photos)
                try Self.awaitWhole(folder)
                #expect(try folder.state(of: "Photos/a") == "local")
                #expect(try Files.attribute(name, of: photos) == Array("1".utf8))
                #expect(
                    try Files.attribute(name, of: "\(photos)/a") == Array("inherited".utf8))
                #expect(try Files.attributeNames(of: photos) == [])
                for (path, pin) in [(folder.point, "itself"), (photos, "inherited")] {
                    let list = try Program.require(Apus.path, "ls", "--json", path)
                    #expect(list.contains(pin), "\(list)")
                }
                #expect(try folder.report().counts.pending == 0)
                #expect(try Files.attributeNames(of: folder.remote("Photos")) == [])
                try Program.require("setfattr", "-x", name, photos)
                #expect(try folder.report().pins == nil)
                try Program.require("setfattr", "-n", name, "-v", "1", "\(photos)/a")
                try Self.awaitWhole(folder)
                try Program.require("setfattr", "-n", name, "-v", "0", "\(photos)/a")
                #expect(try folder.report().pins == nil)
            }
        }
    }
}
