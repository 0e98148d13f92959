import ArgumentParser
import Dispatch
import Filters
import Foundation
import Synchronization

/// `apus apply`: filters all images below some paths, mounted or not.
struct ApplyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Apply a filter to all images of a folder.",
        discussion: """
            Works on any folder, mounted or not, and on single files: JPEG, PNG, WebP, TIFF and \
            HEIC. Each file is replaced atomically and keeps its metadata, profile, orientation, \
            mode and about its quality; its EXIF thumbnail is filtered too. Files that are not \
            images are skipped. A damaged image is reported, stays unchanged, and makes the exit \
            status 1 after all others are done. Links, and folders whose names begin with a dot, \
            are skipped unless given as a path.

            EXAMPLES
              apus apply sepia ~/Cloud/Photos
              apus apply sepia --amount 0.5 holiday.jpg portraits/
              apus apply sepia --quality 90 --json ~/Pictures
            """)

    @Argument(help: "The filter; several with commas between them. Known: \(Self.known).")
    var filter: String

    @Argument(help: "Folders, walked with all below them, and files.")
    var paths: [String]

    @Option(help: "How much of the filter, 0 to 1.")
    var amount = 1.0

    @Option(help: "Quality of lossy files, 1 to 100. (default: near each original's)")
    var quality: Int?

    @Flag(help: "Print the summary as JSON.")
    var json = false

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
        if paths.contains(where: \.isEmpty) {
            throw ValidationError("an empty path names nothing")
        }
    }

    func run() async throws {
        let line = ProgressLine()
        let batch = BatchRun(
            paths: paths.map { RawPath($0) },
            filters: try Filter.pipeline(named: filter, amount: amount),
            options: BatchOptions(quality: quality)
        ) { path, reason in
            line.say("apus: \(path): \(reason)")
        }
        let signals = StopSignals { batch.cancel() }
        let report = await withTaskGroup(of: BatchReport?.self) { group in
            group.addTask { await batch.run() }
            group.addTask {
                await line.follow { batch.progress }
                return nil
            }
            var report: BatchReport?
            for await result in group where result != nil {
                report = result
                group.cancelAll()
            }
            return report
        }
        line.end(with: batch.progress)
        guard let report else { throw ExitCode.failure }
        print(try render(report))
        if let signal = signals.received {
            // Images in the making on other threads are dropped; ordinary exit would tear
            // libraries down under them.
            fflush(nil)
            _exit(128 + signal)
        }
        if report.filesFailed > 0 { throw ExitCode.failure }
    }

    private func render(_ report: BatchReport) throws -> String {
        guard json else { return report.summary }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(report), as: UTF8.self)
    }
}

extension BatchReport {
    /// The report in one line, for people.
    fileprivate var summary: String {
        let rate = seconds > 0 ? Double(bytesBefore) / seconds : 0
        let time = seconds.formatted(.number.precision(.fractionLength(1)))
        return (isCancelled ? "stopped: " : "") + filters.joined(separator: ", ")
            + ": \(filesChanged) changed, \(filesPassedOver) passed over, \(filesFailed) failed; "
            + "\(sizeText(Double(bytesBefore))) became \(sizeText(Double(bytesAfter))) "
            + "in \(time) s (\(sizeText(rate))/s)"
    }
}

/// A number of bytes for people, in powers of 1024.
private func sizeText(_ bytes: Double) -> String {
    var value = bytes
    var units = ["B", "KiB", "MiB", "GiB", "TiB"][...]
    while value >= 1024, units.count > 1 {
        value /= 1024
        units.removeFirst()
    }
    let digits = units.first == "B" || value >= 100 ? 0 : 1
    return value.formatted(.number.grouping(.never).precision(.fractionLength(digits)))
        + " " + (units.first ?? "")
}

/// The line on stderr that shows how far a batch is: redrawn in place on a terminal, a new one
/// every few seconds elsewhere.
private final class ProgressLine: Sendable {
    private let isTerminal = isatty(STDERR_FILENO) == 1
    /// What stands on the terminal's last line.
    private let shown = Mutex("")

    private static let redrawInterval = Duration.milliseconds(100)
    private static let lineInterval = Duration.seconds(5)

    /// Shows progress until the task is cancelled.
    func follow(_ progress: @Sendable () -> BatchProgress) async {
        let interval = isTerminal ? Self.redrawInterval : Self.lineInterval
        while (try? await Task.sleep(for: interval)) != nil {
            show(progress())
        }
    }

    /// Writes a line of its own, above the progress.
    func say(_ message: String) {
        shown.withLock { shown in
            write(isTerminal && !shown.isEmpty ? "\r\u{1B}[K\(message)\n\(shown)" : message + "\n")
        }
    }

    /// Shows the last state, and leaves the terminal's line.
    func end(with progress: BatchProgress) {
        guard isTerminal else { return }
        show(progress)
        shown.withLock { shown in
            if !shown.isEmpty { write("\n") }
            shown = ""
        }
    }

    private func show(_ progress: BatchProgress) {
        let text = Self.text(progress)
        shown.withLock { shown in
            guard isTerminal else { return write(text + "\n") }
            shown = String(text.prefix(columns - 1))
            write("\r\u{1B}[K" + shown)
        }
    }

    private static func text(_ progress: BatchProgress) -> String {
        let more = progress.isWalkComplete ? "" : "+"
        var parts = [
            "\(progress.filesDone)/\(progress.filesFound)\(more) files",
            "\(sizeText(Double(progress.bytesDone))) of "
                + "\(sizeText(Double(progress.bytesFound)))\(more)",
        ]
        if let rate = progress.bytesPerSecond { parts.append("\(sizeText(rate))/s") }
        if let remaining = progress.remaining {
            parts.append("ETA " + remaining.formatted(.time(pattern: .minuteSecond)))
        }
        return parts.joined(separator: "  ")
    }

    private var columns: Int {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 1 else { return 80 }
        return Int(size.ws_col)
    }

    private func write(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}

/// Catches Ctrl-C and the request to terminate, as long as it lives.
private final class StopSignals: @unchecked Sendable {  // sound: only `init` changes `sources`
    private let first = Mutex<Int32?>(nil)
    private var sources: [any DispatchSourceSignal] = []

    /// - Parameter onStop: Called once, on a queue of its own.
    init(onStop: @escaping @Sendable () -> Void) {
        for number in [SIGINT, SIGTERM] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { [weak self] in
                guard let self else { return }
                let isFirst = first.withLock { first in
                    defer { first = first ?? number }
                    return first == nil
                }
                if isFirst { onStop() }
            }
            source.resume()
            sources.append(source)
        }
    }

    deinit {
        for source in sources { source.cancel() }
    }

    /// The signal that came first.
    var received: Int32? { first.withLock { $0 } }
}
