import ArgumentParser
import Control
import Filters
import Foundation
import Synchronization
import UnixSignals

/// `apus apply`: filters all images below some paths, mounted or not.
struct ApplyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Applies a filter to all images of a folder.",
        discussion: """
            Works on any folder, mounted or not, and on single files: JPEG, PNG, WebP, TIFF and \
            HEIC. Each file is replaced atomically and keeps its metadata, profile, orientation, \
            mode and about its quality; its EXIF thumbnail is filtered too. Files that are not \
            images are skipped. A damaged image is reported, stays unchanged, and makes the exit \
            status 1 after all others are done. Links, and folders whose names begin with a dot, \
            are skipped unless given as a path.

            Pictures are decoded in processes of their own, one for each core, without network and \
            without access to files, if the kernel has Landlock. A picture that exceeds \
            --max-pixels, --max-memory or --max-seconds, or crashes its decoder, is reported like \
            a damaged one.

            EXAMPLES:
              apus apply sepia ~/Cloud/Photos
              apus apply sepia --amount 0.5 holiday.jpg portraits/
              apus apply sepia --quality 90 --json ~/Pictures
            """)

    @Argument(
        help: "The filter; several with commas between them. Known: \(Self.known).",
        completion: .list(Filter.Name.allCases.map(\.rawValue)))
    var filter: String

    @Argument(help: "Folders, walked with all below them, and files.", completion: .file())
    var paths: [String]

    @Option(help: "How much of the filter, 0 to 1.")
    var amount = 1.0

    @Option(help: "Quality of lossy files, 1 to 100. (default: near each original's)")
    var quality: Int?

    @Option(help: "Pixels of a picture, or of a page of a TIFF.")
    var maxPixels = PictureLimits.defaultPixelsMax

    @Option(
        help: ArgumentHelp(
            """
            Memory to decode a picture, such as 2GiB. (default: the machine's divided by its \
            cores, from 1GiB to 4GiB)
            """, valueName: "size"),
        transform: parseSize)
    var maxMemory: UInt64?

    @Option(help: "Processor time of a picture, in seconds; by the clock, three times as much.")
    var maxSeconds = PictureLimits.defaultSecondsMax

    @Flag(help: "Print the summary as JSON.")
    var json = false

    private static func parseSize(_ text: String) throws -> UInt64 {
        guard let bytes = HumanSize.parse(text) else {
            throw ValidationError("\"\(text)\" is not a size; write it like 2GiB or 500MiB")
        }
        return bytes
    }

    private static var known: String {
        Filter.Name.allCases.map(\.rawValue).joined(separator: ", ")
    }

    func validate() throws {
        do throws(FilterError) {
            _ = try Filter.pipeline(named: filter, amount: amount)
        } catch {
            throw ValidationError(error.description)
        }
        if let quality, !(1...100).contains(quality) {
            throw ValidationError("quality \(quality) is not between 1 and 100")
        }
        if maxPixels < 1 { throw ValidationError("--max-pixels \(maxPixels) is less than 1") }
        if !(1...86_400).contains(maxSeconds) {
            throw ValidationError("--max-seconds \(maxSeconds) is not between 1 and 86400")
        }
        let memoryMin = PictureLimits.memoryBytesMin
        if let maxMemory, maxMemory < memoryMin {
            throw ValidationError("--max-memory is less than \(HumanSize.format(memoryMin))")
        }
        if paths.contains(where: \.isEmpty) {
            throw ValidationError("an empty path names nothing")
        }
    }

    func run() async throws {
        let line = BatchLine()
        let limits = PictureLimits(
            pixelsMax: maxPixels, memoryBytesMax: maxMemory, secondsMax: maxSeconds)
        let batch = BatchRun(
            paths: paths.map { RawPath($0) },
            filters: try Filter.pipeline(named: filter, amount: amount), quality: quality,
            limits: limits,
            program: try ImageWorkerLocation.program(within: limits)
        ) { path, reason in
            line.say("apus: \(path): \(reason)")
        }
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let (report, signal) = await withTaskGroup(of: Int32?.self) { group in
            group.addTask {
                await line.follow { batch.progress }
                return nil
            }
            group.addTask {
                var first: Int32?
                for await signal in signals {
                    first = first ?? signal.rawValue
                    batch.cancel()
                }
                return first
            }
            let report = await batch.run()
            group.cancelAll()
            return (report, await group.reduce(nil) { $0 ?? $1 })
        }
        line.end(with: batch.progress)
        print(
            json ? String(decoding: try ControlJSON.encode(report), as: UTF8.self) : report.summary)
        if let signal {
            // Images in the making on other threads are dropped; ordinary exit would tear
            // libraries down under them.
            fflush(nil)
            _exit(128 + signal)
        }
        if report.filesFailed > 0 { throw ExitCode.failure }
    }
}

extension BatchReport {
    /// The report in one line, for people.
    fileprivate var summary: String {
        let rate = seconds > 0 ? Double(bytesBefore) / seconds : 0
        let time = seconds.formatted(.number.precision(.fractionLength(1)))
        return (isCancelled ? "stopped: " : "") + filters.joined(separator: ", ")
            + ": \(filesChanged) changed, \(filesPassedOver) passed over, \(filesFailed) failed; "
            + "\(sizeText(bytesBefore)) became \(sizeText(bytesAfter)) "
            + "in \(time) s (\(sizeText(Int(rate)))/s)"
    }
}

/// The line on standard error that shows the progress of a batch.
private final class BatchLine: Sendable {
    private let line = Mutex(ProgressLine.standardError())
    private let isTerminal = isatty(STDERR_FILENO) == 1

    /// Shows progress until the task is cancelled.
    func follow(_ progress: @Sendable () -> BatchProgress) async {
        let interval = isTerminal ? Duration.milliseconds(100) : .seconds(5)
        while (try? await Task.sleep(for: interval)) != nil {
            let text = Self.text(progress())
            line.withLock { $0.show(text) }
        }
    }

    /// Writes a line of its own, above the progress.
    func say(_ message: String) {
        line.withLock { $0.finish(message) }
    }

    /// Shows the last state on a terminal, and leaves its line.
    func end(with progress: BatchProgress) {
        if isTerminal { line.withLock { $0.finish(Self.text(progress)) } }
    }

    private static func text(_ progress: BatchProgress) -> String {
        let more = progress.isWalkComplete ? "" : "+"
        var parts = [
            "\(progress.filesDone)/\(progress.filesFound)\(more) files",
            "\(sizeText(progress.bytesDone)) of \(sizeText(progress.bytesFound))\(more)",
        ]
        if let rate = progress.bytesPerSecond { parts.append("\(sizeText(Int(rate)))/s") }
        if let remaining = progress.remaining {
            parts.append("ETA " + remaining.formatted(.time(pattern: .minuteSecond)))
        }
        return parts.joined(separator: "  ")
    }
}

private func sizeText(_ bytes: Int) -> String { HumanSize.format(UInt64(bytes)) }
