import CVips
import Foundation
import Testing

@testable import Filters
@testable import Rendering

extension Pictures {
    /// Pictures that take too much or end their decoder, each beside good ones.
    @Suite(.timeLimit(.minutes(3)))
    struct HostilePictureTests {
        private let limits = PictureLimits(memoryBytesMax: PictureLimits.memoryBytesMin)

        /// Goal: a header is enough to refuse a picture, whatever its format.
        @Test func `pictures with too many pixels are refused before they are decoded`()
            async throws
        {
            try await expectFailure(
                of: [
                    ("bomb.png", Hostile.png(width: 100_000, height: 100_000)),
                    ("bomb.tif", Hostile.tiff(width: 100_000, height: 100_000)),
                    ("bomb.jpg", try Hostile.jpeg(width: 65_000, height: 65_000)),
                ], naming: "pixels are more than the bound of 256000000", "--max-pixels")
        }

        @Test func `the bound of pixels is inclusive`() throws {
            let png = try Samples.png(hasAlpha: false)
            let (just, tooSmall) = (160 * 120, 160 * 120 - 1)
            let renderer = Renderer(filters: [.sepia(amount: 1)], quality: nil, pixelsMax: just)
            #expect(throws: Never.self) { try renderer.render(png, as: .png) }
            let strict = Renderer(filters: [.sepia(amount: 1)], quality: nil, pixelsMax: tooSmall)
            let error = #expect(throws: ImageError.self) { try strict.render(png, as: .png) }
            #expect(error?.kind == .tooLarge)
        }

        @Test func `a truncated JPEG is damaged`() async throws {
            let whole = try Samples.jpeg(quality: 85)
            try await expectFailure(
                of: [("cut.jpg", Array(whole.prefix(whole.count / 2)))], naming: "damaged")
        }

        @Test func `a picture that needs too much memory is named with the remedy`() async throws {
            // An interlaced PNG is decoded as a whole, here 183 MiB.
            try await expectFailure(
                of: [("large.png", try Hostile.blackPNG(side: 8000))], naming: "too little memory",
                "--max-memory")
        }

        /// Goal: a decoder that dies costs its picture only.
        ///
        /// Method: what follows the picture in the file cannot be copied within the memory bound, and
        /// Swift traps if it gets no memory.
        @Test func `a picture that crashes its decoder is named`() async throws {
            let jpeg = try Samples.jpeg(quality: 85)
            try await expectFailure(
                of: [("crash.jpg", jpeg + [UInt8](repeating: 0, count: 200 << 20))],
                naming: "its decoder crashed (signal", "--max-memory")
        }

        @Test func `a picture that takes too much processor time is named with the remedy`() throws
        {
            let limits = PictureLimits(secondsMax: 1)
            let worker = try worker(limits)
            let error = #expect(throws: ImageError.self) {
                try worker.render(Hostile.blackPNG(side: 14_000), as: .png)
            }
            #expect(error?.kind == .timedOut)
            #expect(error?.message.contains("--max-seconds") == true)
            #expect(throws: Never.self) {
                try worker.render(Samples.jpeg(quality: 85), as: .jpeg)
            }
        }

        /// Goal: damage that an earlier picture did to a process is not blamed on the next one.
        @Test func `a worker that dies between pictures is replaced, and no picture fails`() throws
        {
            let worker = try worker(limits)
            let jpeg = try Samples.jpeg(quality: 85)
            let first = try worker.render(jpeg, as: .jpeg)
            let process = try #require(worker.processID)
            kill(process, SIGSEGV)
            var information = siginfo_t()
            #expect(waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) == 0)

            #expect(try worker.render(jpeg, as: .jpeg) == first)
            #expect(worker.processID != process)
        }

        @Test func `a worker that hangs is given up, and the next picture is filtered`() throws {
            let worker = try worker(PictureLimits(secondsMax: 1))
            let jpeg = try Samples.jpeg(quality: 85)
            let first = try worker.render(jpeg, as: .jpeg)
            kill(try #require(worker.processID), SIGSTOP)

            let error = #expect(throws: ImageError.self) { try worker.render(jpeg, as: .jpeg) }
            #expect(error?.kind == .timedOut)
            #expect(try worker.render(jpeg, as: .jpeg) == first)
        }

        @Test func `a process is kept for the next picture, but not after a pause`() throws {
            let jpeg = try Samples.jpeg(quality: 85)
            func processes(idleMax: Duration) throws -> Set<Int32> {
                let worker = try worker(limits, idleMax: idleMax)
                return try Set(
                    (0..<2).map { _ in
                        _ = try worker.render(jpeg, as: .jpeg)
                        return try #require(worker.processID)
                    })
            }
            #expect(try processes(idleMax: .seconds(3600)).count == 1)
            #expect(try processes(idleMax: .zero).count == 2)
            // Of libvips, after which a thread ends: see `defaultIdleMax`.
            #expect(ImageWorker.defaultIdleMax < .seconds(15))
        }

        @Test func `a worker that does not start is told`() throws {
            let program = try WorkerProgram(
                path: "/usr/bin/true", name: "true", memoryBytesMax: limits.memoryBytesMax)
            let worker = ImageWorker(program, filters: [], quality: nil, limits: limits)
            let error = #expect(throws: ImageError.self) {
                try worker.render(Samples.jpeg(quality: 85), as: .jpeg)
            }
            #expect(error?.message.contains("does not start") == true)
        }

        @Test func `a worker's process ends with the worker`() throws {
            var worker: ImageWorker? = try worker(limits)
            _ = try worker?.render(Samples.jpeg(quality: 85), as: .jpeg)
            let process = try #require(worker?.processID)
            worker = nil
            #expect(kill(process, 0) == -1)
        }

        @Test func `loaders that libvips does not trust are blocked`() throws {
            #expect(Vips.started)
            let loader = try #require(vips_operation_new("ppmload"))
            defer { g_object_unref(loader) }
            #expect(
                vips_operation_get_flags(loader).rawValue & VIPS_OPERATION_BLOCKED.rawValue != 0)
        }

        @Test func `a reason cannot control the terminal`() {
            let error = ImageError(.damaged, "bad \u{1B}[2J\nthing")
            #expect(error.printable.reason == "bad ?[2J?thing")
        }

        private func worker(
            _ limits: PictureLimits, idleMax: Duration = ImageWorker.defaultIdleMax
        ) throws -> ImageWorker {
            ImageWorker(
                try .ofThisBuild(within: limits), filters: [.sepia(amount: 1)], quality: nil,
                limits: limits, idleMax: idleMax)
        }

        /// Checks that these files fail and stay as they are, and that good ones beside them are filtered.
        private func expectFailure(
            of hostile: [(name: String, bytes: [UInt8])], naming words: String...,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            let place = try Workplace()
            let good = try Samples.jpeg(quality: 85)
            let names = (0..<6).map { "good-\($0).jpg" }
            for name in names { try place.add(name, good) }
            for file in hostile { try place.add(file.name, file.bytes) }

            let report = await BatchRun(
                paths: [RawPath(place.url.path)], filters: [.sepia(amount: 1)], limits: limits,
                program: try .ofThisBuild(within: limits)
            ).run()
            #expect(report.filesChanged == names.count, sourceLocation: sourceLocation)
            for name in names {
                #expect(try place.bytes(name) != good, sourceLocation: sourceLocation)
            }
            let failed = report.failures.map { URL(filePath: $0.path).lastPathComponent }
            #expect(failed.sorted() == hostile.map(\.name).sorted(), sourceLocation: sourceLocation)
            for failure in report.failures {
                for word in words {
                    let comment = Comment(rawValue: "\(failure)")
                    #expect(failure.reason.contains(word), comment, sourceLocation: sourceLocation)
                }
            }
            for file in hostile {
                let isSame = try place.bytes(file.name) == file.bytes
                #expect(isSame, "\(file.name)", sourceLocation: sourceLocation)
            }
        }
    }
}

/// Files that ask for more than they hold.
enum Hostile {
    static func png(width: Int, height: Int) -> [UInt8] {
        var header: [UInt8] = []
        for side in [width, height] { header.append(integer: side, size: 4) }
        let data: [UInt8] = [0x78, 0x9C, 0x03, 0, 0, 0, 0, 1]
        return ImageFormat.pngSignature + chunk("IHDR", header + [8, 2, 0, 0, 0])
            + chunk("IDAT", data)
            + chunk("IEND", [])
    }

    private static func chunk(_ type: String, _ body: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.append(integer: body.count, size: 4)
        result += Array(type.utf8) + body
        let checksum = PNGFile.checksum(result[4...])
        result.append(integer: Int(checksum), size: 4)
        return result
    }

    /// One strip of grey that the file does not hold.
    static func tiff(width: Int, height: Int) -> [UInt8] {
        let fields = [
            (256, width), (257, height), (258, 8), (259, 1), (262, 1), (273, 8), (277, 1),
            (278, height), (279, 1000),
        ]
        var result: [UInt8] = Array("MM\0*\0\0\0\u{8}".utf8)
        result.append(integer: fields.count, size: 2)
        for (tag, value) in fields {
            result.append(integer: tag, size: 2)
            result.append(integer: 4, size: 2)
            result.append(integer: 1, size: 4)
            result.append(integer: value, size: 4)
        }
        return result + [UInt8](repeating: 0, count: 2000)
    }

    /// A picture whose frame header tells another size.
    static func jpeg(width: Int, height: Int) throws -> [UInt8] {
        var bytes = try Samples.jpeg(quality: 85)
        let frame = try bytes.withUnsafeBytes { raw in
            try JPEGFile(raw).head.prefix { !$0.isFrame }.reduce(2) { $0 + $1.bytes.count }
        }
        bytes.set(integer: height, at: frame + 5, size: 2)
        bytes.set(integer: width, at: frame + 7, size: 2)
        return bytes
    }

    /// An interlaced picture, which a few hundred kilobytes hold.
    static func blackPNG(side: Int) throws -> [UInt8] {
        precondition(Vips.started)
        let image = try Image.adopt(apus_vips_black(Int32(side), Int32(side), 3))
        return try image.encoded(as: .png(isInterlaced: true))
    }
}
