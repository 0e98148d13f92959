import Foundation
import Testing

extension MountedTests {
    @Suite
    struct `The log as JSON` {
        /// Method: every level is written, also of a failed file and a name that has to be quoted.
        @Test(.timeLimit(.minutes(2)))
        func `has an object with level, module and message in each line`() throws {
            var options = MountedFolder.Options()
            options.mount = ["--log-format", "json", "--log-level", "trace", "--refresh", "1s"]
            try MountedFolder.with(options) { remote in
                try Files.makeDirectory("\(remote)/closed")
                try Files.makeDirectory("\(remote)/open")
            } _: { folder in
                try Files.forbidChanges(in: folder.remote("closed"))
                defer { try? Files.allowChanges(in: folder.remote("closed")) }
                let name = "a \"b\"\n\t\\{c: é}"
                for path in ["open/\(name)", "closed/\(name)"] {
                    try Files.write([1], to: folder.local(path))
                }
                try eventually("one is sent, and one has failed") {
                    let counts = try folder.report().counts
                    return counts.failed == 1 && counts.pending == 1
                }
                try folder.unmount(now: true)
                let text = String(decoding: try Files.read("\(folder.state)/log"), as: UTF8.self)
                #expect(text.hasSuffix("}\n"))
                var levels: Set<String> = []
                for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
                {
                    let object = try #require(
                        try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
                        "\(line)")
                    levels.insert(try #require(object["level"] as? String, "\(line)"))
                    for key in ["module", "message"] {
                        #expect((object[key] as? String)?.isEmpty == false, "\(line)")
                    }
                }
                #expect(levels.isSuperset(of: ["trace", "info", "warning"]), "\(levels)")
            }
        }
    }
}
