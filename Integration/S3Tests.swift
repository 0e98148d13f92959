import Engine
import Host
import Logging
import ProviderConformance
import Synchronization
import Testing
import Transport

@testable import ProviderS3
@testable import ProviderSupport

/// The contract of providers, kept by real servers for S3.
///
/// A server takes seconds to start, so all cases share one, each with a prefix of its own.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct S3Tests {
    private static let world = ProviderEnvironment(
        clock: SystemClock(), transport: HTTPTransport(), logger: Logger(label: "test"))

    static func connect(
        _ store: ObjectStore, _ prefix: String = "", copyBytesMax: UInt64 = 5 << 30,
        pageEntries: Int = 1_000
    ) async throws -> S3Provider {
        try await S3Provider.connect(
            to: store.source(prefix), environment: store.environment, world: world,
            partBytes: 5 << 20, copyBytesMax: copyBytesMax, pageEntries: pageEntries)
    }

    private func runConformance(
        on kind: ObjectStore.Kind, _ options: ConformanceOptions, except refused: Set<String> = [],
        conditions: S3Conditions? = nil
    ) async throws {
        try await ObjectStore.with(kind) { store in
            let next = Mutex(0)
            let suite = ProviderConformance(options: options) {
                let number = next.withLock { number in
                    number += 1
                    return number
                }
                let provider = try await Self.connect(store, "case-\(number)", pageEntries: 10)
                if let conditions { provider.probe.known.withLock { $0 = conditions } }
                return provider
            }
            for testCase in ProviderConformance.cases where !refused.contains("\(testCase)") {
                do {
                    try await suite.run(testCase)
                } catch {
                    Issue.record(error, "\(testCase)")
                }
            }
        }
    }

    private var options: ConformanceOptions {
        var options = ConformanceOptions()
        options.entriesOfSeveralPages = 45
        // Above the size of a part, so that parts are sent.
        options.bytesOfSeveralPieces = 11 << 20
        options.keepsAnyBytesInNames = false
        options.pathBytesMax = 900
        return options
    }

    @Test func `SeaweedFS keeps the contract`() async throws {
        var options = options
        // It takes a backslash for a slash.
        options.refusedNames = ["a\\b"]
        try await runConformance(on: .seaweedFS, options)
    }

    /// moto keeps all objects apart, ignores conditions of copies, and knows nothing of keys with
    /// line ends or with what only a URL could mean.
    @Test func `moto keeps the contract as far as a mock can`() async throws {
        try await runConformance(
            on: .moto, options,
            except: [
                "odd names are names like any other",
                "exactly one of many writers with the same base wins",
                "exactly one of many writers who create wins",
            ])
    }

    @Test func `without any condition the contract is kept but for races`() async throws {
        var options = options
        options.refusedNames = ["a\\b"]
        let none = S3Conditions(
            putIfAbsent: false, putIfVersion: false, deleteIfVersion: false,
            batchIfVersion: false, copyIfSource: false, copyIfAbsent: false, copyIfVersion: false,
            keepsBackslash: false)
        try await runConformance(
            on: .seaweedFS, options,
            except: [
                "exactly one of many writers with the same base wins",
                "exactly one of many writers who create wins",
            ], conditions: none)
    }
}

final class MemorySink: ByteSink {
    private let bytes = Mutex<[UInt8]>([])

    var all: [UInt8] { bytes.withLock { $0 } }
    var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws {
        self.bytes.withLock { $0 += Array(bytes) }
    }
}
