import Glibc
import TestBytes
import Testing

extension MountedTests {
    /// Reads of whole local files by the kernel itself, in a read-only mount.
    @Suite(.enabled(if: Lent.isPossible))
    struct `Files that the kernel reads by itself` {
        private static let bytes = TestBytes.random(1 << 20)

        private static func withFile(
            cache: String = "1GiB", _ body: (MountedFolder) throws -> Void
        ) throws {
            var options = MountedFolder.Options()
            options.mount = ["--read-only", "--refresh", "1s", "--cache-size", cache]
            options.environment = ["APUS_LOG": "trace"]
            try MountedFolder.with(options) { remote in
                try Files.write(bytes, to: "\(remote)/file")
            } _: { folder in
                #expect(try folder.report().passthrough?.used == true)
                try Lent.makeLocal("file", in: folder)
                try body(folder)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `are read, mapped and copied by two programs without a request`() throws {
            try Self.withFile { folder in
                let before = folder.requests["read"]
                let first = try OpenFile(folder.local("file"), O_RDONLY)
                let second = try OpenFile(folder.local("file"), O_RDONLY | O_NONBLOCK)
                #expect(try first.readAll() == Self.bytes)
                #expect(
                    try second.read(10, at: Self.bytes.count - 5) == Array(Self.bytes.suffix(5)))
                #expect(try MappedFile(folder.local("file")).bytes == Self.bytes)
                try Program.require("cp", folder.local("file"), "\(folder.base)/copy")
                #expect(try Files.read("\(folder.base)/copy") == Self.bytes)
                #expect(folder.requests["read"] == before)
                #expect(folder.requests["open"] ?? 0 >= 4)
            }
        }

        /// The disk would refuse the offset.
        @Test(.timeLimit(.minutes(2)))
        func `can be read at any offset with O_DIRECT, also beside a lent handle`() throws {
            try Self.withFile { folder in
                let directly = 0o40000 as Int32
                let alone = try OpenFile(folder.local("file"), O_RDONLY | directly)
                #expect(try alone.read(7, at: 3) == Array(Self.bytes[3..<10]))
                try alone.close()
                let lent = try OpenFile(folder.local("file"), O_RDONLY)
                let beside = try OpenFile(folder.local("file"), O_RDONLY | directly)
                #expect(try beside.read(7, at: 3) == Array(Self.bytes[3..<10]))
                #expect(try lent.readAll() == Self.bytes)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `are not evicted while they are open, and stay mapped after that`() throws {
            try Self.withFile { folder in
                let lent = try OpenFile(folder.local("file"), O_RDONLY)
                let refused = try Apus.run("evict", folder.local("file"))
                #expect(refused.status == 1, "\(refused)")
                #expect(try lent.readAll() == Self.bytes)
                let map = try MappedFile(folder.local("file"))
                try lent.close()

                try eventually("the closed file is evicted") {
                    try Apus.run("evict", folder.local("file")).status == 0
                }
                #expect(try folder.state(of: "file") == "remote")
                #expect(map.bytes == Self.bytes)
                try Lent.makeLocal("file", in: folder)
                #expect(try Files.read(folder.local("file")) == Self.bytes)
                #expect(map.bytes == Self.bytes)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `keep the version that was opened when the remote replaces them`() throws {
            try Self.withFile { folder in
                let lent = try OpenFile(folder.local("file"), O_RDONLY)
                let new = [UInt8](repeating: 7, count: 300_000)
                try Files.replace(folder.remote("file"), with: new)
                try eventually("the new version is shown") {
                    try Files.holds(new, at: folder.local("file"))
                }
                #expect(try lent.read(Self.bytes.count) == Self.bytes)
                #expect(try Files.read(folder.local("file")) == new)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `keep the folder mounted while they are open or mapped`() throws {
            try Self.withFile { folder in
                let lent = try OpenFile(folder.local("file"), O_RDONLY)
                var map: MappedFile? = try MappedFile(folder.local("file"))
                try Apus.expectRefusal("unmount", folder.point, naming: "in use")
                try lent.close()
                try Apus.expectRefusal("unmount", folder.point, naming: "in use")
                #expect(map?.bytes == Self.bytes)
                map = nil
                try folder.unmount()
            }
        }

        /// The mount that lent it has ended; the next one writes to the same state.
        @Test(.timeLimit(.minutes(2)))
        func `stay readable by a program that outlives the daemon`() throws {
            try Self.withFile { folder in
                let lent = try OpenFile(folder.local("file"), O_RDONLY)
                try folder.killDaemon()
                try folder.remount()
                try folder.evict("file")
                try Lent.makeLocal("file", in: folder)
                #expect(try lent.read(Self.bytes.count) == Self.bytes)
                #expect(try Files.read(folder.local("file")) == Self.bytes)
            }
        }

        /// Method: an ordinary user mounts with the help of fusermount3.
        @Test(.timeLimit(.minutes(2)))
        func `are read by requests without the privilege, and the status says so`() throws {
            let base = try Files.makeTemporaryDirectory("p")
            defer { _ = try? Program.run("rm", "-rf", "--one-file-system", base) }
            let place = "\(base)/place"
            for path in ["\(base)/user", place, "\(place)/remote", "\(place)/mount"] {
                try Files.makeDirectory(path)
            }
            try Files.write(Self.bytes, to: "\(place)/remote/file")
            let user = try OrdinaryUser(directory: "\(base)/user")
            guard user.canRunApus else { return }
            for path in [base, place, "\(place)/remote", "\(place)/mount"] {
                try CallError.check(chown(path, user.userID, user.userID), "chown \(path)")
            }
            let script = """
                "$0" mount "folder:$1/remote" "$1/mount" --read-only --state-dir "$1/state" &&
                    cat "$1/mount/file" > "$1/first" && cat "$1/mount/file" > "$1/second" &&
                    "$0" status "$1/mount"; "$0" unmount "$1/mount"
                """
            let result = try user.run(["sh", "-c", script, Apus.path, place], environment: [:])
            #expect(result.output.contains("SYS_ADMIN"), "\(result)")
            #expect(try Files.read("\(place)/second") == Self.bytes)
        }

        /// A writer would have to be lent the file too, and its shared maps would bypass the daemon.
        @Test(.timeLimit(.minutes(2)))
        func `are not lent in a writable mount, where writers reach readers and the remote`() throws
        {
            try MountedFolder.with { remote in
                try Files.write(Self.bytes, to: "\(remote)/file")
            } _: { folder in
                let status = try folder.report().passthrough
                #expect(status?.used == false)
                #expect(status?.reason?.contains("--read-only") == true)
                try Lent.makeLocal("file", in: folder, isLent: false)
                let reader = try OpenFile(folder.local("file"), O_RDONLY)
                #expect(try reader.read(4) == Array(Self.bytes.prefix(4)))
                let writer = try OpenFile(folder.local("file"), O_RDWR | O_APPEND)
                try writer.append([1, 2, 3])
                #expect(try reader.read(10, at: Self.bytes.count) == [1, 2, 3])
                let map = try MappedFile(folder.local("file"), isWritable: true)
                map.set(0, to: 99)
                #expect(try reader.read(1) == [99])
                map.synchronize()
                try writer.close()
                try folder.sync()
                let written = [99] + Array(Self.bytes.dropFirst()) + [1, 2, 3]
                #expect(try Files.read(folder.remote("file")) == written)
            }
        }
    }
}

private enum Lent {
    /// Whether this machine can lend files: Linux 6.9 or later, and root.
    static let isPossible = geteuid() == 0 && RunningKernel.isAtLeast(6, 9)

    /// Fetches a file, and waits until no handle is left that was open meanwhile, as it is not lent
    /// beside that.
    static func makeLocal(_ name: String, in folder: MountedFolder, isLent: Bool = true) throws {
        _ = try Files.read(folder.local(name))
        #expect(try folder.state(of: name) == "local")
        guard isLent else { return }
        try eventually("\(name) is read without requests") {
            let before = folder.requests["read"]
            let file = try OpenFile(folder.local(name), O_RDONLY)
            try file.dropPages()
            _ = try file.readAll()
            return folder.requests["read"] == before
        }
    }
}

/// A file mapped into memory, whose descriptor is closed.
private final class MappedFile {
    private let start: UnsafeMutableRawBufferPointer

    init(_ path: String, isWritable: Bool = false) throws(CallError) {
        let flags = isWritable ? O_RDWR : O_RDONLY
        let descriptor = try CallError.check(open(path, flags | O_CLOEXEC), "open \(path)")
        defer { close(descriptor) }
        let size = Int(try Files.status(path).st_size)
        let address = mmap(
            nil, size, isWritable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, descriptor, 0)
        guard let address, address != MAP_FAILED else {
            throw CallError(call: "mmap \(path)", code: errno)
        }
        start = UnsafeMutableRawBufferPointer(start: address, count: size)
    }

    deinit { munmap(start.baseAddress!, start.count) }

    var bytes: [UInt8] { Array(start) }

    func set(_ index: Int, to byte: UInt8) { start[index] = byte }

    func synchronize() { msync(start.baseAddress!, start.count, MS_SYNC) }
}
