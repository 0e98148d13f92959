import Foundation
import TestBytes
import Testing

extension MountedTests {
    @Suite
    struct `Metrics` {
        /// The samples of `apus metrics`: values by the name with its labels, without the mount's.
        private func samples(_ folder: MountedFolder) throws -> [String: Double] {
            let text = try Program.require(Apus.path, "metrics", folder.point)
            let label = "mount=\"\(folder.point)\""
            return text.split(separator: "\n").filter { !$0.hasPrefix("#") }
                .reduce(into: [:]) { samples, line in
                    let words = line.split(separator: " ")
                    let name = words.dropLast().joined(separator: " ")
                        .replacing("\(label),", with: "").replacing("{\(label)}", with: "")
                    samples[name] = words.last.flatMap { Double($0) }
                }
        }

        @Test(.timeLimit(.minutes(2)))
        func `count what programs and the daemon do`() throws {
            let remote = TestBytes.random(3 << 20, seed: 1)
            let local = TestBytes.random(1 << 20, seed: 2)
            try MountedFolder.with {
                try Files.write(remote, to: $0 + "/there")
            } _: { folder in
                let before = try samples(folder)
                #expect(try Files.read(folder.local("there")) == remote)
                try Files.write(local, to: folder.local("here"))
                try folder.sync()
                _ = try? Files.read(folder.local("missing"))
                let after = try samples(folder)
                func growth(_ name: String) throws -> Double {
                    try #require(after[name], "\(name)") - (before[name] ?? 0)
                }
                #expect(try growth("apus_remote_received_bytes_total") == Double(remote.count))
                #expect(try growth("apus_remote_sent_bytes_total") == Double(local.count))
                #expect(try growth("apus_kernel_read_bytes_total") >= Double(remote.count))
                #expect(try growth("apus_kernel_written_bytes_total") == Double(local.count))
                for request in ["lookup", "read", "write", "create"] {
                    let name = "apus_kernel_request_duration_seconds_count{request=\"\(request)\"}"
                    #expect(try growth(name) > 0, "\(request)")
                }
                for request in ["read", "write"] {
                    let labels = "request=\"\(request)\",result=\"ok\""
                    #expect(try growth("apus_remote_requests_total{\(labels)}") > 0)
                    let name = "apus_remote_request_duration_seconds_count{request=\"\(request)\"}"
                    #expect(try growth(name) > 0)
                }
                #expect(try growth("apus_database_commit_duration_seconds_count") > 0)
                #expect(try growth("apus_cache_bytes") >= Double(remote.count))
                #expect(after["apus_pending_items{state=\"waiting\"}"] == 0)
                #expect(after["apus_remote_reachable"] == 1)
                #expect(try #require(after["process_resident_memory_bytes"]) > 1e6)
                #expect(try #require(after["process_start_time_seconds"]) > 1e9)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `are exported as documented, over the control socket`() throws {
            try MountedFolder.with { folder in
                let socket = try Program.require(
                    "getfattr", "--absolute-names", "--only-values", "-n", "user.apus.control",
                    folder.point)
                let text = try Program.require(
                    "curl", "--silent", "--fail", "--unix-socket", socket, "http://apus/metrics")
                let types = text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }
                    .map { $0.split(separator: " ").dropFirst(2).joined(separator: " ") }
                #expect(types == (try Self.documentedTypes()))
                for line in text.split(separator: "\n") where !line.hasPrefix("#") {
                    #expect(line.contains("{mount=\"\(folder.point)\""), "\(line)")
                }
            }
        }

        private static func documentedTypes() throws -> [String] {
            let root = URL(filePath: #filePath).deletingLastPathComponent()
                .deletingLastPathComponent()
            let text = String(
                decoding: try Files.read(root.path + "/docs/control-api.md"), as: UTF8.self)
            let section = try #require(text.components(separatedBy: "### `GET /metrics`").last)
            return section.components(separatedBy: "\n### ")[0].split(separator: "\n")
                .filter { $0.hasPrefix("| `") }
                .map { row in
                    let cells = row.split(separator: "|").map {
                        $0.trimmingCharacters(in: .whitespaces).replacing("`", with: "")
                    }
                    return "\(cells[0]) \(cells[1])"
                }
        }
    }
}
