import Foundation
import Synchronization
import Testing

@testable import Filters

extension Pictures {
    struct BatchRunTests {
        private let filters: [Filter] = [.sepia(amount: 1)]

        @Test func `images are changed, others passed over and counted`() async throws {
            let place = try Workplace()
            let jpeg = try Samples.jpeg(quality: 85)
            try place.add("a.jpg", jpeg)
            try place.add("deep/er/b.PNG", try Samples.png(hasAlpha: true))
            try place.add("notes.txt", Array("no image".utf8))
            try place.add("lie.jpg", Array("no image either".utf8))
            try place.add(".hidden/c.jpg", jpeg)
            try place.add("editing.jpg~", jpeg)

            let report = try await run(place)
            #expect(report.filesChanged == 2)
            #expect(report.filesPassedOver == 2)
            #expect(report.filesFailed == 0)
            #expect(!report.isCancelled)
            #expect(try place.bytes("a.jpg") != jpeg)
            #expect(try place.bytes(".hidden/c.jpg") == jpeg)
            #expect(try place.bytes("editing.jpg~") == jpeg)
            #expect(try place.bytes("lie.jpg") == Array("no image either".utf8))
        }

        @Test func `a damaged image is named and stays as it was, others are changed`() async throws
        {
            let place = try Workplace()
            let damaged = try Samples.damagedJPEG()
            try place.add("bad.jpg", damaged)
            try place.add("good.jpg", try Samples.jpeg(quality: 85))
            let told = Mutex<[String]>([])

            let report = await BatchRun(
                paths: [RawPath(place.url.path)], filters: filters, program: try .ofThisBuild()
            ) { path, _ in
                told.withLock { $0.append(path.description) }
            }.run()
            #expect(report.filesFailed == 1)
            #expect(report.filesChanged == 1)
            #expect(told.withLock { $0 } == [place.url.path + "/bad.jpg"])
            #expect(report.failures.map(\.path) == told.withLock { $0 })
            #expect(try place.bytes("bad.jpg") == damaged)
            #expect(try place.names() == ["bad.jpg", "good.jpg"])
        }

        @Test func `mode and extended attributes stay`() async throws {
            let place = try Workplace()
            let file = try place.add("a.jpg", try Samples.jpeg(quality: 85))
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o640], ofItemAtPath: file.path)
            let canHaveAttributes = setAttribute("user.note", "kept", on: file)

            let report = try await run(place)
            #expect(report.filesChanged == 1)
            #expect(try place.mode("a.jpg") == 0o640)
            if canHaveAttributes { #expect(attribute("user.note", on: file) == "kept") }
        }

        @Test func `links are neither followed nor replaced`() async throws {
            let place = try Workplace()
            let elsewhere = try Workplace()
            let jpeg = try Samples.jpeg(quality: 85)
            let target = try elsewhere.add("target.jpg", jpeg)
            for (name, destination) in [("link.jpg", target), ("folder", elsewhere.url)] {
                try FileManager.default.createSymbolicLink(
                    at: place.url.appending(path: name), withDestinationURL: destination)
            }
            let report = try await run(place)
            #expect(report.filesChanged == 0)
            #expect(report.filesPassedOver == 2)
            #expect(try elsewhere.bytes("target.jpg") == jpeg)
        }

        @Test func `a folder named twice is filtered once`() async throws {
            let place = try Workplace()
            try place.add("sub/a.jpg", try Samples.jpeg(quality: 85))
            let report = await BatchRun(
                paths: [RawPath(place.url.path + "/sub"), RawPath(place.url.path)],
                filters: filters,
                program: try .ofThisBuild()
            ).run()
            #expect(report.filesChanged == 1)
        }

        @Test func `a path that does not exist fails, and the others are done`() async throws {
            let place = try Workplace()
            try place.add("a.jpg", try Samples.jpeg(quality: 85))
            let report = await BatchRun(
                paths: [RawPath(place.url.path + "/missing"), RawPath(place.url.path)],
                filters: filters, program: try .ofThisBuild()
            ).run()
            #expect(report.filesChanged == 1)
            #expect(report.filesFailed == 1)
        }

        @Test func `a run without an image starts no process and ends normally`() async throws {
            let program = try WorkerProgram(
                path: "/nonexistent", name: "missing", memoryBytesMax: 1 << 30)
            let place = try Workplace()
            try place.add("notes.txt", Array("no image".utf8))
            let report = await BatchRun(
                paths: [RawPath(place.url.path)], filters: filters, program: program
            ).run()
            #expect(report.filesPassedOver == 1)
            #expect(report.filesFailed == 0)
        }

        @Test func `cancelling leaves every file whole and no temporary`() async throws {
            let place = try Workplace()
            let originals = try (0..<24).map { try Samples.jpeg(quality: 60 + $0) }
            for (index, bytes) in originals.enumerated() { try place.add("\(index).jpg", bytes) }
            try place.add("damaged.jpg", try Samples.damagedJPEG())
            let names = try place.names()

            // The failure is the event: by then the run is under way.
            let batch = Mutex<BatchRun?>(nil)
            let run = BatchRun(
                paths: [RawPath(place.url.path)], filters: filters, program: try .ofThisBuild()
            ) { _, _ in
                batch.withLock { $0 }?.cancel()
            }
            batch.withLock { $0 = run }
            let report = await run.run()
            #expect(report.isCancelled)
            #expect(try place.names() == names)
            for (index, original) in originals.enumerated() {
                let bytes = try place.bytes("\(index).jpg")
                #expect(try bytes == original || Samples.samples(of: bytes).count == 160 * 120 * 3)
            }
            batch.withLock { $0 = nil }
        }

        @Test func `a cancelled task cancels the run`() async throws {
            let place = try Workplace()
            let original = try Samples.jpeg(quality: 85)
            try place.add("a.jpg", original)
            let run = BatchRun(
                paths: [RawPath(place.url.path)], filters: filters, program: try .ofThisBuild())
            run.cancel()
            let report = await run.run()
            #expect(report.isCancelled)
            #expect(try place.bytes("a.jpg") == original)
        }

        private func run(_ place: Workplace) async throws -> BatchReport {
            await BatchRun(
                paths: [RawPath(place.url.path)], filters: filters, program: try .ofThisBuild()
            ).run()
        }
    }
}
