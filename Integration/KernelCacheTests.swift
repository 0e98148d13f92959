import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing

extension MountedTests {
    @Suite(.timeLimit(.minutes(3)))
    struct `The kernel's caches` {
        private static let directories = (0..<4).map { "directory\($0)" }
        private static let names = (0..<25).map { "file\($0)" }

        private static func options(refresh: String) -> MountedFolder.Options {
            var options = MountedFolder.Options()
            options.mount = ["--refresh", refresh]
            options.environment["APUS_LOG"] = "trace"
            return options
        }

        private static func populate(_ remote: String) throws {
            for directory in directories {
                try Files.makeDirectory("\(remote)/\(directory)")
                for name in names { try Files.write([1], to: "\(remote)/\(directory)/\(name)") }
            }
        }

        /// The requests so far, without that for the free space, which the kernel never caches.
        private static func requests(_ folder: MountedFolder) -> [String: Int] {
            folder.requests.filter { $0.key != "statfs" }
        }

        /// Reads what a walk reads, and asks for names that do not exist.
        private static func walk(_ folder: MountedFolder) throws {
            let found = try Program.require("find", folder.point, "-size", "+0", "-type", "f")
            #expect(found.split(separator: "\n").count == directories.count * names.count)
            try Program.require("ls", "-R", folder.point)
            guard cachesAbsences else { return }
            for directory in directories {
                #expect(!Files.exists(folder.local("\(directory)/absent")))
            }
        }

        /// Whether the kernel lets go of an absence when the name is invalidated. From Linux 6.19 on it
        /// does not, so absences are asked for each time.
        private static let cachesAbsences = !RunningKernel.isAtLeast(6, 19)

        /// Walks until the kernel answers by itself: at first some answers are invalidated, and it forgets
        /// the access times of directories that it lists. An answer that came shortly before its
        /// invalidation is invalidated again a second later.
        private static func fillCaches(_ folder: MountedFolder) throws {
            for isLast in [false, true] {
                try eventually("a walk makes no request") {
                    let before = requests(folder)
                    try walk(folder)
                    return requests(folder) == before
                }
                if !isLast { pause(.milliseconds(1_500)) }
            }
        }

        /// Lets time pass: there is no event to wait for if the kernel is to be told again of a change a
        /// second later, or not at all.
        private static func pause(_ duration: Duration) {
            Thread.sleep(forTimeInterval: duration / .seconds(1))
        }

        @Test func `answer a walk through a known tree without a request`() throws {
            try MountedFolder.with(Self.options(refresh: "1h"), populate: Self.populate) { folder in
                try Self.fillCaches(folder)
                #expect(folder.requests["readdir"] != nil)
                for _ in 0..<3 {
                    let before = Self.requests(folder)
                    try Self.walk(folder)
                    #expect(Self.requests(folder) == before)
                }
            }
        }

        /// Method: `ls` asks for the label and the access list of each file, until it is told that there
        /// are none.
        @Test func `leave few requests to a long listing of a known tree`() throws {
            try MountedFolder.with(Self.options(refresh: "1h"), populate: Self.populate) { folder in
                try Self.fillCaches(folder)
                let before = Self.requests(folder)
                let listing = try Program.require("ls", "-lR", folder.point)
                #expect(listing.contains(Self.names[24]))
                let asked = Self.requests(folder).reduce(into: 0) { count, request in
                    count += request.value - (before[request.key] ?? 0)
                }
                #expect(asked <= 2, "not one for each of 100 files")
            }
        }

        /// Method: the kernel answers from its caches, so only an invalidation can show the changes.
        @Test func `follow changes on the remote at once`() throws {
            try MountedFolder.with(Self.options(refresh: "1s"), populate: Self.populate) { folder in
                try Self.fillCaches(folder)
                try Files.write([1, 2], to: folder.remote("directory0/absent"))
                try Files.unlink(folder.remote("directory1/file0"))
                try Files.replace(folder.remote("directory2/file0"), with: [1, 2, 3])
                try Files.setMode(0o600, of: folder.remote("directory3/file0"))
                try eventually("the new file is seen") {
                    Files.exists(folder.local("directory0/absent"))
                }
                try eventually("the removed file is gone") {
                    !Files.exists(folder.local("directory1/file0"))
                }
                try eventually("the file has its new content") {
                    try Files.holds([1, 2, 3], at: folder.local("directory2/file0"))
                }
                try eventually("the file has its new mode") {
                    try Files.status(folder.local("directory3/file0")).st_mode & 0o777 == 0o600
                }
                #expect(try Files.names(in: folder.local("directory0")).contains("absent"))
                #expect(try !Files.names(in: folder.local("directory1")).contains("file0"))
                try expectEqualTrees(folder)
            }
        }

        /// Goal: a directory that the kernel answers for is still looked at while it is used, and one
        /// that is not used costs nothing.
        ///
        /// Method: directories count as unused after ten intervals, as no request comes.
        @Test func `report the next use of a directory that was not used for long`() throws {
            try MountedFolder.with(Self.options(refresh: "1s"), populate: Self.populate) { folder in
                try Self.fillCaches(folder)
                let file = folder.local("directory0/file0")
                try eventually("a use is reported") {
                    let before = Self.requests(folder)
                    _ = try Files.status(file)
                    return Self.requests(folder) != before
                }
                try Files.write([1], to: folder.remote("directory0/absent"))
                try eventually("the change is seen") {
                    Files.exists(folder.local("directory0/absent"))
                }
            }
        }

        /// Goal: the attributes of a directory that is not in use, which the kernel gets on other
        /// occasions than its use, do not keep it from reporting the next one.
        ///
        /// Method: a directory counts as unused after two seconds. Then it is changed, or its parent is
        /// read again, whose listing the kernel has dropped for a new name.
        @Test(arguments: ["chmod 700 \"$0/directory0\"", "ls -l \"$0\"", "stat \"$0\"/dir*"])
        func `report the next use of an unused directory after an answer about it`(
            script: String
        ) throws {
            try MountedFolder.with(Self.options(refresh: "200ms"), populate: Self.populate) {
                folder in
                try Self.fillCaches(folder)
                Self.pause(.seconds(3))
                try Files.write([1], to: folder.remote("new"))
                try eventually("the root's listing is dropped") {
                    Files.exists(folder.local("new"))
                }
                try Program.require("sh", "-c", script, folder.point)
                // As long as the answer may make it count as used, it is refreshed anyhow.
                Self.pause(.seconds(3))
                try Files.write([1], to: folder.remote("directory0/absent"))
                try eventually("the change is seen", within: .seconds(20)) {
                    Files.exists(folder.local("directory0/absent"))
                }
            }
        }

        /// Goal: names that the kernel knows as absent, or as a file that was replaced, fail no program
        /// that opens them.
        ///
        /// Method: files are replaced, removed and made on the remote while programs open them.
        @Test func `fail no program that opens a file while it changes on the remote`() throws {
            var options = MountedFolder.Options()
            options.mount = ["--refresh", "100ms"]
            try MountedFolder.with(options) { folder in
                try Files.write([1], to: folder.remote("replaced"))
                try eventually("it is seen") { Files.exists(folder.local("replaced")) }
                let isEnding = Mutex(false)
                let failures = Mutex<[String]>([])
                let programs = DispatchGroup()
                func start(_ body: @escaping @Sendable (Int) throws -> Void) {
                    DispatchQueue.global().async(group: programs) {
                        var round = 0
                        while !isEnding.withLock(\.self) {
                            do {
                                try body(round)
                            } catch let error as CallError where error.code == ESTALE {
                                // It was replaced once more while the kernel looked it up again.
                            } catch {
                                failures.withLock { $0.append("\(error)") }
                            }
                            round += 1
                        }
                    }
                }
                for _ in 0..<2 {
                    start { _ in
                        try OpenFile(folder.local("replaced"), O_RDONLY).close()
                    }
                }
                start { round in
                    let name = "made \(round % 20)"
                    _ = Files.exists(folder.local(name))
                    try OpenFile(folder.local(name), O_RDWR | O_CREAT).close()
                }
                do {
                    defer {
                        isEnding.withLock { $0 = true }
                        programs.wait()
                    }
                    for round in 0..<60 {
                        try Files.replace(folder.remote("replaced"), with: [UInt8(round), 1])
                        let name = folder.remote("made \(round % 20)")
                        if Files.exists(name) {
                            try Files.unlink(name)
                        } else {
                            try Files.write([1], to: name)
                        }
                        Self.pause(.milliseconds(100))
                    }
                }
                #expect(failures.withLock { Set($0) } == [])
            }
        }

        /// Goal: an answer that an invalidation overtakes is not cached without limit.
        ///
        /// Method: names come and go on the remote while programs ask for them without a pause.
        @Test func `show no outdated names after changes that meet requests`() throws {
            var options = MountedFolder.Options()
            options.mount = ["--refresh", "100ms"]
            try MountedFolder.with(options) { folder in
                let names = (0..<20).map { "name\($0)" }
                let isEnding = Mutex(false)
                let readers = DispatchGroup()
                for _ in 0..<3 {
                    DispatchQueue.global().async(group: readers) {
                        while !isEnding.withLock(\.self) {
                            for name in names { _ = Files.exists(folder.local(name)) }
                            _ = try? Files.names(in: folder.point)
                        }
                    }
                }
                do {
                    defer {
                        isEnding.withLock { $0 = true }
                        readers.wait()
                    }
                    var random = SeededRandom(seed: 7)
                    for _ in 0..<50 {
                        let name = names[Int.random(in: 0..<names.count, using: &random)]
                        let isThere = Files.exists(folder.remote(name))
                        if isThere {
                            try Files.unlink(folder.remote(name))
                        } else {
                            try Files.write([1], to: folder.remote(name))
                        }
                        try eventually("\(name) is seen as it is on the remote") {
                            Files.exists(folder.local(name)) != isThere
                        }
                    }
                }
                let expected = try Files.names(in: folder.remote)
                try eventually("the listing is the remote's") {
                    try Files.names(in: folder.point) == expected
                }
                try eventually("each name is as on the remote") {
                    names.allSatisfy { name in
                        Files.exists(folder.local(name)) == expected.contains(name)
                    }
                }
            }
        }
    }
}
