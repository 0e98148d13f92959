import CLinux
import Foundation
import Testing

@testable import SystemCalls

/// Other programs in the boundaries of `Confinement`.
@Suite(.timeLimit(.minutes(1)))
struct ConfinementTests {
    private static let hasLandlock = apus_landlock_create() >= 0

    @Test(.enabled(if: hasLandlock, "this kernel has no Landlock"))
    func `only the libraries of the system can be read`() throws {
        let directory = try TemporaryDirectory()
        let secret = directory.path + "/secret"
        try Data("secret".utf8).write(to: URL(filePath: secret))

        #expect(try confined("/usr/bin/cat", "/etc/ld.so.cache") == 0)
        #expect(try confined("/usr/bin/cat", secret) == 1)
        #expect(try confined("/usr/bin/cat", "/etc/passwd") == 1)
        #expect(try confined("/usr/bin/ls", directory.path) != 0)
        #expect(try confined("/usr/bin/cat", "/proc/\(getpid())/environ") == 1)
    }

    @Test(.enabled(if: hasLandlock, "this kernel has no Landlock"))
    func `no file can be created, changed or removed`() throws {
        let directory = try TemporaryDirectory()
        let file = directory.path + "/file"
        try Data("kept".utf8).write(to: URL(filePath: file))
        #expect(try confined("/usr/bin/touch", directory.path + "/new") != 0)
        #expect(try confined("/usr/bin/truncate", "--size=0", file) != 0)
        #expect(try confined("/usr/bin/rm", "-f", file) != 0)
        #expect(try Data(contentsOf: URL(filePath: file)) == Data("kept".utf8))
    }

    @Test func `memory is bounded`() throws {
        let blocks = { (size: String) in
            ["if=/dev/urandom", "bs=\(size)", "count=1", "iflag=fullblock"]
        }
        #expect(try confined(["/usr/bin/dd"] + blocks("1M")) == 0)
        #expect(try confined(["/usr/bin/dd"] + blocks("200M")) == 1)
    }

    /// Goal: the address of this machine is not reached.
    ///
    /// Method: bash connects to a port that accepts connections, with and without boundaries.
    @Test func `there is no network`() throws {
        let server = try ListeningSocket()
        let connect = "exec 3<>/dev/tcp/127.0.0.1/\(server.port)"
        let free = Process()
        free.executableURL = URL(filePath: "/usr/bin/bash")
        free.arguments = ["-c", connect]
        try free.run()
        free.waitUntilExit()
        #expect(free.terminationStatus == 0)
        #expect(try confined("/usr/bin/bash", "-c", connect) != 0)
    }

    /// Goal: there is no network either if the system permits no network namespace.
    @Test func `no socket can be made, of any family`() throws {
        let make = { (family: String) in "import socket; socket.socket(socket.\(family))" }
        #expect(try confined("/usr/bin/python3", "-c", "import socket") == 0)
        #expect(try confined("/usr/bin/python3", "-c", make("AF_INET")) == 1)
        #expect(try confined("/usr/bin/python3", "-c", make("AF_UNIX")) == 1)
    }

    @Test func `no other descriptor is open`() throws {
        let number = dup(STDERR_FILENO)
        defer { close(number) }
        #expect(try confined("/usr/bin/test", "-e", "/proc/self/fd/0") == 0)
        #expect(try confined("/usr/bin/test", "-e", "/proc/self/fd/\(number)") == 1)
    }

    @Test func `the child ends with the thread that started it`() throws {
        let ends = try SocketPair()
        let confinement = try Confinement(program: "/usr/bin/bash", memoryBytesMax: 128 << 20)
        let child = Monitor(Int32(-1))
        let thread = try WorkerThread(name: "starter") {
            let process = try? confinement.start(
                "/usr/bin/bash", arguments: ["bash", "-c", "echo ready >&0; cat"], environment: [],
                channel: ends.theirs.rawValue)
            child.update { $0 = process ?? -1 }
            // The program runs before this thread ends.
            if process != nil { _ = try? PosixIO.readSome(ends.ours.rawValue) }
        }
        thread.join()
        let process = child.update { $0 }
        try #require(process > 0)
        #expect(ChildProgram.awaitEnd(of: process) & 0x7F == SIGKILL)
    }

    private func confined(_ command: String...) throws -> Int32 { try confined(command) }

    /// - Returns: The exit status of a confined program.
    private func confined(_ command: [String]) throws -> Int32 {
        let ends = try SocketPair()
        let confinement = try Confinement(program: command[0], memoryBytesMax: 128 << 20)
        let status = Monitor(Int32(-1))
        // A thread of its own, because the program ends with the thread that starts it.
        let thread = try WorkerThread(name: "starter") {
            guard
                let process = try? confinement.start(
                    command[0], arguments: command, environment: [], channel: ends.theirs.rawValue)
            else { return }
            let end = ChildProgram.awaitEnd(of: process)
            status.update { $0 = end & 0x7F == 0 ? end >> 8 & 0xFF : 128 + end & 0x7F }
        }
        thread.join()
        return status.update { $0 }
    }
}

private struct SocketPair {
    let ours: Descriptor
    let theirs: Descriptor

    init() throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        ours = Descriptor(adopting: ends[0])
        theirs = Descriptor(adopting: ends[1])
    }
}

/// Accepts connections to a port of this machine.
private struct ListeningSocket {
    let port: UInt16
    private let descriptor: Descriptor

    init() throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(socket >= 0)
        descriptor = Descriptor(adopting: socket)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isOpen = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, size) == 0 && listen(socket, 8) == 0
                    && getsockname(socket, $0, &size) == 0
            }
        }
        try #require(isOpen)
        port = UInt16(bigEndian: address.sin_port)
    }
}
