import Foundation
import Testing

extension MountedTests {
    /// A session bus of its own stands for the desktop, and scripts/notification-server for the program
    /// that shows notifications.
    @Suite
    struct `Notifications of the desktop` {
        private struct Shown: Decodable {
            var app: String
            var summary: String
            var body: String
        }

        private static let names = (1...5).map { "plan <\($0)> & more.txt" }
        private static let project = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().path(percentEncoded: false)
        private static let mine = Array("mine".utf8)
        private static let theirs = Array("theirs, and longer".utf8)

        @Test(.timeLimit(.minutes(3)))
        func `tell of a burst of conflicts once`() throws {
            let base = try Files.makeTemporaryDirectory("d")
            defer { try? FileManager.default.removeItem(atPath: base) }
            let address = "unix:path=\(base)/bus"
            let bus = try Program.start([
                "dbus-daemon", "--session", "--nofork", "--nopidfile", "--address=\(address)",
            ])
            defer { end(bus) }
            try eventually("the bus") { Files.exists("\(base)/bus") }
            let desktop = try Program.start([
                "\(Self.project)/.venv/bin/python", "\(Self.project)/scripts/notification-server",
                address,
            ])
            defer { end(desktop) }
            try eventually("the stand-in") { desktop.outputSoFar.contains("ready") }

            var options = MountedFolder.Options()
            options.environment["DBUS_SESSION_BUS_ADDRESS"] = address
            options.mount = ["--refresh", "1s"]
            try MountedFolder.with(options) { remote in
                for name in Self.names { try Files.write([0], to: "\(remote)/\(name)") }
            } _: { folder in
                for name in Self.names {
                    let handle = try OpenFile(folder.local(name), O_RDWR)
                    try handle.write(Self.mine)
                    try Files.replace(folder.remote(name), with: Self.theirs)
                    try handle.close()
                }
                try folder.sync()
                func shown() throws -> [Shown] {
                    try desktop.outputSoFar.split(separator: "\n").filter { $0.hasPrefix("{") }
                        .map { try JSONDecoder().decode(Shown.self, from: Data($0.utf8)) }
                }
                // On a slow machine the burst may last for longer than the notification waits for it.
                func told() throws -> Int {
                    try shown().compactMap { Int($0.summary.prefix { $0.isNumber }) }.reduce(0, +)
                }
                try eventually("all conflicts are told of", within: .seconds(120)) {
                    try told() == Self.names.count
                }
                let all = try shown()
                #expect(all.count <= 2, "\(all)")
                #expect(all[0].app == "Apus")
                #expect(all[0].summary.contains(/conflicts? in mount$/), "\(all)")
                #expect(
                    all[0].body.contains(
                        /^plan &lt;\d&gt; &amp; more.txt.*: changed here and on the remote/),
                    "\(all)")
            }
        }

        private func end(_ program: Program) {
            program.killAll()
            _ = try? program.wait()
        }
    }
}
