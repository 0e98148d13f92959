import Foundation
import Glibc
import SystemCalls
import Testing

@testable import Host

@Suite struct StateDirectoryTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private var path: String { directory.path + "/state/apus/photos" }

    @Test func `it is made with its parents, and closed to others`() throws {
        let state = try StateDirectory(path: path, mountPoint: "/mnt/photos")
        #expect(state.path == path)
        #expect(try directory.mode(of: "state") == 0o700)
        #expect(try directory.mode(of: "state/apus/photos") == 0o700)
        #expect(try directory.mode(of: "state/apus/photos/lock") == 0o600)
    }

    @Test func `another process is told which one holds it`() throws {
        let state = try StateDirectory(path: path, mountPoint: "/mnt/a b")
        let error = #expect(throws: StateDirectoryError.self) {
            _ = try StateDirectory(path: path, mountPoint: "/mnt/other")
        }
        withExtendedLifetime(state) {}
        let holder = StateDirectory.Holder(processID: getpid(), mountPoint: "/mnt/a b")
        #expect(error?.kind == .held(by: holder))
        #expect(
            error?.description
                == "cannot use the state directory \"\(path)\": process \(getpid()) uses it for "
                + "\"/mnt/a b\"; unmount that folder first (apus unmount \"/mnt/a b\")")
    }

    @Test func `it can be taken again after its release`() throws {
        _ = try StateDirectory(path: path, mountPoint: "/a/much/longer/mount/point")
        let state = try StateDirectory(path: path, mountPoint: "/b")
        let text = try String(contentsOfFile: path + "/lock", encoding: .utf8)
        #expect(text == "\(getpid())\n/b\n")
        withExtendedLifetime(state) {}
    }

    @Test(.timeLimit(.minutes(1)))
    func `the lock of a killed process is free`() throws {
        _ = try StateDirectory(path: path, mountPoint: "/mnt")
        let holder = Process()
        holder.executableURL = URL(filePath: "/usr/bin/flock")
        holder.arguments = ["--no-fork", path + "/lock", "sh", "-c", "echo taken; read forever"]
        let output = Pipe()
        holder.standardOutput = output
        holder.standardInput = Pipe()
        try holder.run()
        #expect(output.fileHandleForReading.availableData == Data("taken\n".utf8))
        #expect(throws: StateDirectoryError.self) {
            _ = try StateDirectory(path: path, mountPoint: "/mnt")
        }
        kill(holder.processIdentifier, SIGKILL)
        holder.waitUntilExit()
        _ = try StateDirectory(path: path, mountPoint: "/mnt")
    }

    /// Method: a process whose first thread is a zombie holds the lock for another second, as one that
    /// was killed during a write does.
    @Test(.timeLimit(.minutes(1)))
    func `waits for a killed process that has not ended`() throws {
        _ = try StateDirectory(path: path, mountPoint: "/mnt")
        let holder = Process()
        holder.executableURL = URL(filePath: "/usr/bin/python3")
        holder.arguments = [
            "-c",
            """
            import ctypes, fcntl, os, sys, threading, time
            lock = open(sys.argv[1], "w")
            fcntl.flock(lock, fcntl.LOCK_EX)
            lock.write(f"{os.getpid()}\\n/mnt\\n")
            lock.flush()
            def outlive():
                while " Z " not in open("/proc/self/stat").read(): pass
                os.write(1, b"Z")
                time.sleep(1)
                os._exit(0)
            threading.Thread(target=outlive).start()
            ctypes.CDLL(None).pthread_exit(None)
            """, path + "/lock",
        ]
        let output = Pipe()
        holder.standardOutput = output
        try holder.run()
        #expect(output.fileHandleForReading.availableData == Data("Z".utf8))
        _ = try StateDirectory(path: path, mountPoint: "/mnt")
        holder.waitUntilExit()
    }

    @Test func `one with foreign files is refused and stays unchanged`() throws {
        let mine = directory.path + "/Documents"
        try FileManager.default.createDirectory(
            atPath: mine, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        for name in ["thesis.odt", "letters.txt", "log"] {
            try Data("mine".utf8).write(to: URL(filePath: "\(mine)/\(name)"))
        }
        let error = #expect(throws: StateDirectoryError.self) {
            _ = try StateDirectory(path: mine, mountPoint: "/mnt")
        }
        #expect(error?.kind == .occupied(by: "letters.txt"))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: mine).sorted()
                == ["letters.txt", "log", "thesis.odt"])
    }

    @Test func `one that we have used is taken, with any other files in it`() throws {
        _ = try StateDirectory(path: path, mountPoint: "/mnt")
        try FileManager.default.createDirectory(
            atPath: path + "/lost+found", withIntermediateDirectories: false)
        _ = try StateDirectory(path: path, mountPoint: "/mnt")
        for name in ["state.sqlite", "notes.txt"] {
            try Data().write(to: URL(filePath: "\(path)/\(name)"))
        }
        _ = try StateDirectory(path: path, mountPoint: "/mnt")
    }

    /// Method: what a start makes before its database, then what it makes afterwards.
    @Test func `the state of a start that failed is removed, unless there was one before`() throws {
        do {
            let state = try StateDirectory(path: path, mountPoint: "/mnt")
            for name in ["ballast", "log", "state.sqlite", "state.sqlite-wal"] {
                try Data().write(to: URL(filePath: "\(path)/\(name)"))
            }
            try FileManager.default.createDirectory(
                atPath: path + "/content/1", withIntermediateDirectories: true)
            state.removeIfNew()
        }
        #expect(!FileManager.default.fileExists(atPath: path))
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        do {
            let state = try StateDirectory(path: path, mountPoint: "/mnt")
            state.removeIfNew()
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: path) == [])
        do {
            let state = try StateDirectory(path: path, mountPoint: "/mnt")
            try Data().write(to: URL(filePath: path + "/state.sqlite"))
            state.keep()
            state.removeIfNew()
        }
        do {
            let state = try StateDirectory(path: path, mountPoint: "/mnt")
            state.removeIfNew()
        }
        #expect(FileManager.default.fileExists(atPath: path + "/state.sqlite"))
    }

    /// Method: with a link that leads out of it.
    @Test func `a removed state has nothing left`() throws {
        let outside = directory.path + "/outside"
        try Data("kept".utf8).write(to: URL(filePath: outside))
        _ = try StateDirectory(path: path, mountPoint: "/mnt")
        for folder in ["content/1", "lost+found"] {
            try FileManager.default.createDirectory(
                atPath: "\(path)/\(folder)", withIntermediateDirectories: true)
        }
        try Data().write(to: URL(filePath: path + "/lost+found/old"))
        try FileManager.default.createSymbolicLink(
            atPath: path + "/content/1/257", withDestinationPath: outside)
        let state = try StateDirectory(checking: path)
        #expect(try state.foreignName() == nil)
        try Data().write(to: URL(filePath: path + "/letter"))
        #expect(try state.foreignName() == "letter")
        unlink(path + "/letter")
        var count = 0
        try state.remove { count = $0 }
        #expect(count == 3)
        #expect(FileManager.default.fileExists(atPath: outside))
        let parent = directory.path + "/state/apus"
        #expect(try FileManager.default.contentsOfDirectory(atPath: parent) == [])
    }

    /// Goal: a start that opened the lock before the directory was removed does not use it.
    @Test func `a lock without its name is not taken`() throws {
        _ = try StateDirectory(path: path, mountPoint: "/mnt")
        let lock = try Descriptor(opening: path + "/lock", flags: O_RDWR)
        #expect(try lock.isFile(at: path + "/lock"))
        unlink(path + "/lock")
        #expect(try !lock.isFile(at: path + "/lock"))
    }

    @Test func `only a lock that a mount or a check has written makes a state`() throws {
        #expect(!StateDirectory.isState(path))
        _ = try StateDirectory(path: path, mountPoint: "/mnt")
        #expect(StateDirectory.isState(path))
        try Data("mine".utf8).write(to: URL(filePath: path + "/lock"))
        #expect(!StateDirectory.isState(path))
    }

    @Test(arguments: [0o750, 0o707, 0o701])
    func `one that other users can enter is refused`(mode: Int) throws {
        try FileManager.default.createDirectory(
            atPath: directory.path + "/open", withIntermediateDirectories: false)
        #expect(chmod(directory.path + "/open", mode_t(mode)) == 0)
        let error = #expect(throws: StateDirectoryError.self) {
            _ = try StateDirectory(path: directory.path + "/open", mountPoint: "/mnt")
        }
        #expect(error?.kind == .exposed(mode: UInt16(mode)))
        #expect(error?.remedy == "restrict it with: chmod 700 \"\(directory.path)/open\"")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a directory to somebody else"))
    func `one of another user is refused`() throws {
        #expect(chown(directory.path, 65_534, 65_534) == 0)
        let error = #expect(throws: StateDirectoryError.self) {
            _ = try StateDirectory(path: directory.path, mountPoint: "/mnt")
        }
        #expect(error?.kind == .foreign(owner: 65_534))
    }

    @Test func `a file in its place is reported`() throws {
        try Data().write(to: URL(filePath: directory.path + "/file"))
        let error = #expect(throws: StateDirectoryError.self) {
            _ = try StateDirectory(path: directory.path + "/file", mountPoint: "/mnt")
        }
        #expect(error?.kind == .system(ENOTDIR))
        #expect(error?.remedy == "move away the file of that name")
    }

    @Test func `the default follows the XDG specification`() throws {
        func path(_ environment: [String: String], isRoot: Bool = false) throws -> String {
            try StateDirectory.defaultPath(name: "x", environment: environment, isRoot: isRoot)
        }
        #expect(try path(["XDG_STATE_HOME": "/s", "HOME": "/h"]) == "/s/apus/x")
        #expect(try path(["HOME": "/h"]) == "/h/.local/state/apus/x")
        #expect(try path(["XDG_STATE_HOME": "relative", "HOME": "/h"]) == "/h/.local/state/apus/x")
        #expect(try path(["HOME": "/h"], isRoot: true) == "/var/lib/apus/x")
        #expect(throws: StateDirectoryError.self) { _ = try path([:]) }
        #expect(throws: StateDirectoryError.self) {
            _ = try StateDirectory.defaultPath(name: "a/b", environment: ["HOME": "/h"])
        }
    }

    @Test func `the conventional path depends on the user only`() throws {
        #expect(StateDirectory.conventionalPath(name: "x", userID: 0) == "/var/lib/apus/x")
        let entry = try #require(getpwuid(geteuid() == 0 ? 65_534 : geteuid()))
        let home = String(cString: entry.pointee.pw_dir)
        #expect(
            StateDirectory.conventionalPath(name: "x", userID: entry.pointee.pw_uid)
                == "\(home)/.local/state/apus/x")
        #expect(StateDirectory.conventionalPath(name: "x", userID: 3_999_999_999) == nil)
    }
}
