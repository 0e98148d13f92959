import Engine
import Foundation
import Host
import Logging
import ProviderSupport
import Providers
import Synchronization
import Transport

/// Whether sources can be opened as a mount opens them, and whether the clocks of their servers agree with
/// this machine's.
enum SourceDiagnoses {
    /// A source, with the name under which it is reported.
    struct Subject: Sendable {
        let name: String
        let source: Source
        /// See `TransportOptions.caFile`.
        let caFile: String?
    }

    /// How long one source may take.
    private static let limit: Duration = .seconds(30)
    /// S3 refuses requests that are signed with a larger difference.
    private static let skewMax: TimeInterval = 300
    /// From here on times of files look wrong.
    private static let skewNoticed: TimeInterval = 30

    /// Looks at all of them side by side.
    static func all(_ subjects: [Subject]) async -> [Diagnosis] {
        await withTaskGroup { group in
            for (index, subject) in subjects.enumerated() {
                group.addTask { (index, await diagnoses(of: subject)) }
            }
            var found: [Int: [Diagnosis]] = [:]
            for await (index, diagnoses) in group { found[index] = diagnoses }
            return subjects.indices.flatMap { found[$0] ?? [] }
        }
    }

    private static func diagnoses(of subject: Subject) async -> [Diagnosis] {
        let clock = RemoteClock()
        let hooks = ShutdownHooks()
        let start = ContinuousClock.now
        let failure = await failureToOpen(subject, clock, hooks)
        let duration = start.duration(to: .now)
        await hooks.run()
        let isNeeded = subject.source.description.hasPrefix("s3:")
        let skew = clock.skew.map { [Self.skew($0, of: subject.name, isNeeded: isNeeded)] } ?? []
        guard let failure else {
            let milliseconds = Int(duration / .milliseconds(1))
            return [.good(subject.name, "answers within \(milliseconds) ms")] + skew
        }
        return [.bad(subject.name, failure.problem, remedy: failure.remedy)] + skew
    }

    /// - Returns: nil if the source was opened.
    private static func failureToOpen(
        _ subject: Subject, _ clock: RemoteClock, _ hooks: ShutdownHooks
    ) async -> SourceError? {
        var options = TransportOptions()
        options.caFile = subject.caFile
        options.onAnswer = { clock.note($0) }
        var world = ProviderEnvironment(
            clock: SystemClock(), transport: HTTPTransport(options),
            logger: Logger(label: "doctor") { _ in SwiftLogNoOpLogHandler() })
        // Nothing is to be found out for a mount.
        world.knownNames = .exact
        world.mayTryProperties = false
        world.atEnd = { hooks.add($0) }
        let fixed = world
        return await withTaskGroup(of: SourceError?.self) { group in
            group.addTask {
                do throws(SourceError) {
                    _ = try await subject.source.connect(fixed)
                    return nil
                } catch {
                    return error
                }
            }
            group.addTask {
                try? await Task.sleep(for: limit)
                return SourceError(
                    .unavailable, "it has not answered for \(limit.components.seconds) s",
                    remedy: "check the address and the connection")
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    /// - Parameters:
    ///   - skew: By how many seconds the server's clock is ahead.
    ///   - isNeeded: Whether the store refuses requests of another time.
    static func skew(_ skew: TimeInterval, of name: String, isNeeded: Bool) -> Diagnosis {
        let subject = "clock"
        let seconds = abs(skew)
        guard seconds >= skewNoticed else { return .good(subject, "agrees with \(name)") }
        let finding =
            "\(Int(seconds)) s \(skew > 0 ? "behind" : "ahead of") the server of \(name)"
        let remedy = "set this machine's clock, as by `timedatectl set-ntp true`"
        guard seconds > skewMax, isNeeded else { return .note(subject, finding, remedy: remedy) }
        return .bad(
            subject, finding + ": S3 refuses requests with more than 5 minutes", remedy: remedy)
    }
}

/// The difference between a server's clock and ours, from the header `Date` of its first answer.
private final class RemoteClock: Sendable {
    private let found = Mutex<TimeInterval?>(nil)

    /// By how many seconds the server's clock is ahead; nil if no answer has told.
    var skew: TimeInterval? { found.withLock(\.self) }

    func note(_ answer: HTTPResponse) {
        guard let text = answer.headers["date"], let time = Timestamp(httpDate: text) else {
            return
        }
        // The header has whole seconds.
        let skew = Double(time.seconds) + 0.5 - Date().timeIntervalSince1970
        found.withLock { if $0 == nil { $0 = skew } }
    }
}
