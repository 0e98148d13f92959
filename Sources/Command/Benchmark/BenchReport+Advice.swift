import Control
import Foundation

extension BenchReport {
    /// Below this, a large file is worth waiting for beforehand.
    private static let slowDownload: UInt64 = 4 << 20
    /// From here on, no other program of this machine lacks any of it.
    private static let fastUpload: UInt64 = 64 << 20
    /// From this time on, a listing is repeated less often, see `docs/semantics.md`.
    private static let longListing = 1_500.0

    /// Returns the report with its expectations and its advice, which rest on its measurements alone.
    ///
    /// - Parameter takesListingsAsMetadata: Whether the source may be given `?metadata=listing`.
    func explained(takesListingsAsMetadata: Bool) -> BenchReport {
        var report = self
        report.expectations = [
            downloads.best.map { "1 GiB arrives in about \(Self.time(for: 1 << 30, at: $0))" },
            uploads.best.map {
                "1 GiB is sent in about \(Self.time(for: 1 << 30, at: $0)); programs do not wait for it"
            },
            smallFiles.map {
                "1,000 new small files are sent in about "
                    + Self.time(1_000 / Swift.max($0.writtenPerSecond, 0.001))
            },
            connections,
        ].compactMap(\.self)
        report.advice = [
            pins, bandwidth, takesListingsAsMetadata ? metadata : nil, refresh,
        ].compactMap(\.self)
        return report
    }

    private var connections: String? {
        let needed = [uploads.connectionsNeeded, downloads.connectionsNeeded].compactMap(\.self)
        guard let most = needed.max() else { return nil }
        return
            "\(counted(most, "connection is", "connections are")) enough for full speed; "
            + "Apus finds their number by itself"
    }

    private var pins: String? {
        guard let best = downloads.best, best < Self.slowDownload else { return nil }
        return "`apus pin FOLDER` fetches a folder before you need it, and keeps it on this machine"
    }

    private var bandwidth: String? {
        guard let up = uploads.best, let down = downloads.best, up < Self.fastUpload else {
            return nil
        }
        return
            "`--bandwidth \(Self.fourFifths(of: up)):\(Self.fourFifths(of: down))` leaves a fifth of the "
            + "line to other programs"
    }

    private var metadata: String? {
        guard let metadataPerSecond, metadataPerSecond < 2_000 else { return nil }
        let time = Self.time(10_000 / Swift.max(metadataPerSecond, 0.001))
        return
            "`?metadata=listing` at the end of the source saves a request for each file: a first walk "
            + "over 10,000 files takes about \(time) for them; modes and exact times are not shown then"
    }

    private var refresh: String? {
        guard listing.milliseconds > Self.longListing else { return nil }
        return
            "`apus refresh FOLDER` shows changes by others at once: a folder that takes "
            + "\(Self.time(listing.milliseconds / 1_000)) to list is looked at less often than every `--refresh`"
    }

    private static func fourFifths(of rate: UInt64) -> String {
        let kibibytes = Swift.max((rate / 5 * 4) >> 10, 1)
        return kibibytes < (10 << 10) ? "\(kibibytes)KiB" : "\(kibibytes >> 10)MiB"
    }

    private static func time(for bytes: UInt64, at rate: UInt64) -> String {
        time(Double(bytes) / Double(Swift.max(rate, 1)))
    }

    private static func time(_ seconds: Double) -> String {
        seconds < 9.95
            ? "\((seconds * 10).rounded() / 10) s" : HumanDuration.format(seconds: seconds)
    }
}

extension BenchReport {
    /// For people.
    var lines: [String] {
        var lines = [
            """
            round trip   \(Self.number(roundTrip.medianMilliseconds)) ms (median; \
            \(Self.number(roundTrip.minMilliseconds)) to \(Self.number(roundTrip.maxMilliseconds)) ms)
            """,
            "listing      \(counted(listing.names, "name", "names")) in "
                + "\(Self.number(listing.milliseconds)) ms",
        ]
        if let smallFiles {
            lines.append(
                """
                small files  \(Self.number(smallFiles.writtenPerSecond)) a second written, \
                \(Self.number(smallFiles.readPerSecond)) read \
                (\(HumanSize.format(smallFiles.bytesEach)) each)
                """)
        }
        if let metadataPerSecond {
            lines.append("metadata     of \(Self.number(metadataPerSecond)) files a second")
        }
        lines += [("upload", uploads), ("download", downloads)].compactMap(Self.line)
        lines += Self.part("What to expect:", expectations)
        lines += Self.part(
            "Would help:", advice.isEmpty ? ["nothing; the defaults suit this source"] : advice)
        return lines
    }

    private static func line(_ name: String, _ rates: [Throughput]) -> String? {
        guard !rates.isEmpty else { return nil }
        let texts = rates.map {
            "\(HumanSize.format($0.bytesPerSecond))/s with \($0.connections)"
        }
        return name.padding(toLength: 13, withPad: " ", startingAt: 0)
            + texts.joined(separator: ", ") + " connections"
    }

    private static func part(_ title: String, _ sentences: [String]) -> [String] {
        sentences.isEmpty ? [] : ["", title] + sentences.map { "  \($0)" }
    }

    private static func number(_ value: Double) -> String {
        value < 9.95 ? "\((value * 10).rounded() / 10)" : "\(Int(value.rounded()))"
    }
}
