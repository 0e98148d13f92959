import ArgumentParser
import Control
import Foundation
import Providers
import Synchronization
import UnixSignals

struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measures how fast a source is, and says which options would help.",
        discussion: """
            Takes up to two minutes, and needs no mount. Measures the round trip, small files, the listing \
            of a folder, and the throughput by the number of connections. For that, files of random bytes \
            are sent into a folder .apus-bench-… on the source: how many bytes at most is said before. The \
            folder is removed at the end, also after Ctrl-C; a second Ctrl-C leaves it there. With \
            --read-only nothing is sent, and a large file of the source is read, if there is one.

            Exit status: 0 for success, 1 for failure, 2 for bad usage, 130 after Ctrl-C.

            EXAMPLES:
              apus bench webdav+https://cloud.example.org/dav
              apus bench 's3://bucket?endpoint=https://s3.example.org' --quick
              apus bench rclone:drive: --read-only
              apus bench photos --json
            """)

    @Argument(
        help: "The source, as in `apus mount`, or the name of a mount in the configuration file.",
        completion: .configuredMounts)
    var source: String

    @Flag(help: "Take about ten seconds, and send less; less exact.")
    var quick = false

    @Flag(help: "Send nothing. (default for a mount of the configuration file: its read-only)")
    var readOnly = false

    @Option(
        help: ArgumentHelp(
            "Trust the certificates in this PEM file instead of the system's.", valueName: "file"),
        completion: .file())
    var caFile: String?

    @Flag(help: "Print the measurements as JSON.")
    var json = false

    func run() async throws {
        let request = try MountRequest(source, on: nil, try MountSettings.parse([]))
        var plan = quick ? BenchPlan.quick : .full
        plan.isReadOnly = readOnly || request.settings.readOnly == true
        let line = Mutex(DelayedProgressLine())
        let benchmark = SourceBenchmark(
            request.source, caFile: caFile ?? request.settings.caFile, plan
        ) { step in
            line.withLock { $0.show("measuring: \(step)") }
        }
        if !json { Console.printLine(Self.announcement(of: request.source.description, plan)) }
        let outcome = await Self.outcome(of: benchmark)
        line.withLock { $0.finish() }
        switch outcome {
        case .report(let report):
            if json {
                try Console.printJSON(report)
            } else {
                report.lines.forEach(Console.printLine)
            }
        case .failure(let error): throw error
        case .signal(let signal): throw ExitCode(128 + signal)
        }
    }

    private static func announcement(of source: String, _ plan: BenchPlan) -> String {
        guard !plan.isReadOnly else { return "Measures \(source), and sends nothing." }
        return """
            Measures \(source). Sends at most \(HumanSize.format(plan.bytesSentMax)) into a folder \
            \(BenchDirectory.prefix)… there, and removes it.
            """
    }

    private enum Outcome {
        case report(BenchReport)
        case failure(any Error)
        case signal(Int32)
    }

    /// Measures until the end or the first signal, and tidies up. A second signal ends the program.
    private static func outcome(of benchmark: SourceBenchmark) async -> Outcome {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let (first, firstSignal) = AsyncStream<Int32>.makeStream()
        return await withTaskGroup(of: Void.self) { group in
            group.addTask {
                var begin: ContinuousClock.Instant?
                for await signal in signals {
                    if let begin {
                        // Programs such as timeout(1) send the same signal twice.
                        if ContinuousClock.now - begin < .seconds(1) { continue }
                        Console.complain(
                            "a folder \(BenchDirectory.prefix)… may be left on the source")
                        _exit(128 + signal.rawValue)
                    }
                    begin = .now
                    firstSignal.yield(signal.rawValue)
                }
            }
            let outcome = await firstOutcome(of: benchmark, first)
            defer { group.cancelAll() }
            do {
                try await benchmark.end()
                return outcome
            } catch {
                return .failure(error)
            }
        }
    }

    private static func firstOutcome(
        of benchmark: SourceBenchmark, _ signals: AsyncStream<Int32>
    ) async -> Outcome {
        await withTaskGroup(of: Outcome.self) { group in
            group.addTask {
                do {
                    return .report(try await benchmark.run())
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                for await signal in signals { return .signal(signal) }
                return .failure(CancellationError())
            }
            let outcome = await group.next() ?? .failure(CancellationError())
            group.cancelAll()
            return outcome
        }
    }
}
