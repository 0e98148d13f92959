import Foundation
import Glibc
import TestBytes
import Testing

/// `apus bench`: everything is measured, and nothing is left on the source.
@Suite(.timeLimit(.minutes(4)))
struct `The benchmark of a source` {
    private struct Report: Decodable {
        struct Rate: Decodable {
            let connections: Int
            let bytesPerSecond: UInt64
        }
        struct Listing: Decodable {
            let names: Int
        }
        struct SmallFiles: Decodable {
            let writtenPerSecond: Double
            let readPerSecond: Double
        }
        struct RoundTrip: Decodable {
            let medianMilliseconds: Double
        }

        let roundTrip: RoundTrip
        let listing: Listing
        let smallFiles: SmallFiles?
        let metadataPerSecond: Double?
        let uploads: [Rate]
        let downloads: [Rate]
        let expectations: [String]
    }

    private func bench(
        _ source: String, _ options: String..., environment: [String: String] = [:]
    ) throws -> Report {
        let result = try Apus.run(
            ["bench", source, "--quick", "--json"] + options, environment: environment)
        try #require(result.status == 0, "\(result)")
        return try JSONDecoder().decode(Report.self, from: Data(result.output.utf8))
    }

    private func expectEverything(_ report: Report) {
        #expect(report.roundTrip.medianMilliseconds > 0)
        #expect(report.listing.names > 0)
        #expect((report.smallFiles?.writtenPerSecond ?? 0) > 0)
        #expect((report.smallFiles?.readPerSecond ?? 0) > 0)
        for rates in [report.uploads, report.downloads] {
            #expect(rates.map(\.connections) == [1, 4, 16])
            #expect(rates.allSatisfy { $0.bytesPerSecond > 0 })
        }
        #expect(report.expectations.count == 4)
    }

    /// Calls `body` with a folder that has one file.
    private func withFolder(_ body: (String) throws -> Void) throws {
        let base = try Files.makeTemporaryDirectory("b")
        defer { _ = try? Program.run("rm", "-rf", "--one-file-system", base) }
        try Files.write([1], to: "\(base)/file")
        try body(base)
    }

    @Test func `a folder`() throws {
        try withFolder { folder in
            let report = try bench("folder:\(folder)")
            expectEverything(report)
            #expect(report.metadataPerSecond == nil)
            #expect(try Files.names(in: folder) == ["file"])

            let text = try Program.require(Apus.path, "bench", "folder:\(folder)", "--quick")
            let lines = text.split(separator: "\n")
            #expect(lines[0].contains("Sends at most ") && lines[0].contains(".apus-bench-…"))
            for start in ["round trip ", "upload ", "download ", "What to expect:", "Would help:"] {
                #expect(lines.contains { $0.hasPrefix(start) }, "\(start) in\n\(text)")
            }
            #expect(try Files.names(in: folder) == ["file"])
        }
    }

    @Test func `a WebDAV server`() async throws {
        try await WebDAVServer.with(.apache) { server in
            try server.put([1], at: "file")
            expectEverything(try bench(server.source))
            #expect(try server.names == ["file"])
        }
    }

    @Test func `an S3 store`() async throws {
        try await ObjectStore.with(.seaweedFS) { store in
            let report = try bench(store.source("p"), environment: store.environment)
            expectEverything(report)
            #expect((report.metadataPerSecond ?? 0) > 0)
            #expect(try Self.remainders(store) == "0 0")
        }
    }

    /// Returns the numbers of objects and of unfinished uploads.
    private static func remainders(_ store: ObjectStore) throws -> String {
        try store.python(
            """
            objects = s3.list_objects_v2(Bucket=bucket).get('Contents', [])
            uploads = s3.list_multipart_uploads(Bucket=bucket).get('Uploads', [])
            print(len(objects), len(uploads), end='')
            """)
    }

    @Test func `with --read-only sends nothing, and reads a file of the source`() async throws {
        try await WebDAVServer.with(.apache) { server in
            try server.put(TestBytes.random(3 << 20, seed: 7), at: "large")
            // Apache logs a request after its answer.
            try eventually("the PUT is logged") { !server.requests.isEmpty }
            let former = server.requests.count
            let report = try bench(server.source, "--read-only")
            #expect(report.uploads.isEmpty && report.smallFiles == nil)
            #expect(report.downloads.count == 3)
            #expect(report.listing.names == 1)
            let methods = server.requests.dropFirst(former).map { $0.split(separator: " ")[1] }
            #expect(Set(methods).isSubset(of: ["OPTIONS", "PROPFIND", "GET"]), "\(Set(methods))")
            #expect(methods.contains("GET"))
        }
    }

    /// Method: a slow folder, in which the files of each step can be seen.
    @Test(arguments: [("1", 1), ("5", 1), ("1", 256 << 10)])
    func `leaves nothing after an interruption`(name: String, bytes: Int) throws {
        try withFolder { folder in
            let program = try Apus.start(
                ["bench", "folder:\(folder)?rate=300KiB&latency=30ms"], limitSeconds: 120)
            try eventually("it sends files") {
                try #require(program.isRunning, "\(program.errorsSoFar)")
                let names = try Files.names(in: folder).filter { $0.hasPrefix(".apus-bench-") }
                guard let directory = names.first else { return false }
                let files = (try? Files.names(in: "\(folder)/\(directory)")) ?? []
                return files.contains { file in
                    guard let status = try? Files.status("\(folder)/\(directory)/\(file)") else {
                        return false
                    }
                    return bytes > 1 ? status.st_size >= bytes : file == name
                }
            }
            program.signal(SIGINT)
            let result = try program.wait()
            #expect(result.status == 130, "\(result)")
            let names = try Files.names(in: folder)
            #expect(names == ["file"], "\(result)")
        }
    }

    @Test func `leaves nothing on a WebDAV server after an interruption`() async throws {
        try await WebDAVServer.with(.apache) { server in
            let program = try Apus.start(["bench", server.source])
            try eventually("it sends files") {
                try #require(program.isRunning, "\(program.errorsSoFar)")
                return try server.names.contains { directory in
                    let files = (try? Files.names(in: "\(server.folder)/\(directory)")) ?? []
                    return files.contains("9")
                }
            }
            program.signal(SIGINT)
            let result = try program.wait()
            #expect(result.status == 130, "\(result)")
            let names = try server.names
            #expect(names == [], "\(result)")
        }
    }

    @Test func `leaves nothing on an S3 store after an interruption`() async throws {
        try await ObjectStore.with(.seaweedFS) { store in
            let program = try Apus.start(
                ["bench", store.source("p")], environment: store.environment)
            try eventually("it sends files") {
                try #require(program.isRunning, "\(program.errorsSoFar)")
                return try Self.remainders(store).split(separator: " ").first != "0"
            }
            program.signal(SIGINT)
            let result = try program.wait()
            #expect(result.status == 130, "\(result)")
            #expect(try Self.remainders(store) == "0 0")
        }
    }

    @Test func `a source that refuses to be written to is named, with the remedy`() throws {
        try withFolder { folder in
            try Files.forbidChanges(in: folder)
            defer { try? Files.allowChanges(in: folder) }
            let result = try Apus.run("bench", "folder:\(folder)", "--quick")
            #expect(result.status == 1)
            #expect(result.errors.contains("--read-only"), "\(result)")
        }
        try Apus.expectRefusal("bench", "folder:/absent/folder", naming: "/absent/folder")
    }
}
