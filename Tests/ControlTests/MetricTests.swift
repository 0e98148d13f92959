import Foundation
import Meters
import Testing

@testable import Control

@Suite struct `Metrics` {
    @Test func `are documented, with their type, unit and labels, and no others`() throws {
        let documented = try Self.documentedRows()
        let known = Metric.allCases.map { metric in
            [
                metric.rawValue, metric.kind.rawValue, Self.unit(of: metric),
                metric.labels.joined(separator: ", "),
            ]
        }
        #expect(documented == known)
    }

    @Test(arguments: Metric.allCases)
    func `have names as Prometheus asks for`(metric: Metric) {
        let name = metric.rawValue
        #expect(name.allSatisfy { $0.isLowercase || $0 == "_" })
        #expect(name.hasPrefix("apus_") || name.hasPrefix("process_"))
        #expect(name.hasSuffix("_total") == (metric.kind == .counter))
        #expect(!["_ms", "_kib", "_milliseconds", "_percent"].contains { name.contains($0) })
        #expect(!metric.help.contains("\n") && metric.help.hasSuffix("."))
    }

    @Test func `are text in which labels are escaped`() {
        let family = MetricFamily(
            "apus_x_total", .counter, help: "A \\ and\na line.",
            samples: [.init(.count(3), labels: [.init("path", "a\"b\\c\nd")])])
        #expect(
            PrometheusText.format([family], common: [.init("mount", "/m")]) == #"""
                # HELP apus_x_total A \\ and\na line.
                # TYPE apus_x_total counter
                apus_x_total{mount="/m",path="a\"b\\c\nd"} 3

                """#)
    }

    @Test func `of durations are cumulative buckets in seconds`() {
        let histogram = Histogram()
        for time in [Duration.microseconds(10), .milliseconds(2), .seconds(500)] {
            histogram.record(time)
        }
        let text = PrometheusText.format([
            MetricFamily(
                "d", .histogram, help: "D.", samples: [.init(.distribution(histogram.snapshot))])
        ])
        let lines = text.split(separator: "\n")
        #expect(lines.contains("d_bucket{le=\"1e-05\"} 1"))
        #expect(lines.contains("d_bucket{le=\"0.001\"} 1"))
        #expect(lines.contains("d_bucket{le=\"0.003\"} 2"))
        #expect(lines.contains("d_bucket{le=\"100\"} 2"))
        #expect(lines.contains("d_bucket{le=\"+Inf\"} 3"))
        #expect(lines.contains("d_sum 500.00201"))
        #expect(lines.contains("d_count 3"))
    }

    @Test func `of several daemons come together by name`() {
        let texts = ["/a", "/b"].map { mount in
            PrometheusText.format(
                [
                    MetricFamily("one", .gauge, help: "1.", samples: [.init(.count(1))]),
                    MetricFamily("two", .gauge, help: "2.", samples: [.init(.number(0.5))]),
                ], common: [.init("mount", mount)])
        }
        #expect(
            PrometheusText.joined(texts) == """
                # HELP one 1.
                # TYPE one gauge
                one{mount="/a"} 1
                one{mount="/b"} 1
                # HELP two 2.
                # TYPE two gauge
                two{mount="/a"} 0.5
                two{mount="/b"} 0.5

                """)
    }

    private static func unit(of metric: Metric) -> String {
        let name = metric.rawValue.replacing(/_total$/, with: "")
        if name.hasSuffix("_bytes_per_second") { return "bytes a second" }
        if name.hasSuffix("_bytes") { return "bytes" }
        if name.hasSuffix("_seconds") { return "seconds" }
        return name.hasSuffix("_info") || name.hasSuffix("_reachable") ? "" : "number"
    }

    /// The first four columns of the table in `docs/control-api.md`.
    private static func documentedRows() throws -> [[String]] {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(
            contentsOf: root.appending(path: "docs/control-api.md"), encoding: .utf8)
        let section = try #require(text.components(separatedBy: "### `GET /metrics`").last)
        return section.components(separatedBy: "\n### ")[0].split(separator: "\n")
            .filter { $0.hasPrefix("| `") }
            .map { row in
                row.split(separator: "|", omittingEmptySubsequences: false).dropFirst().prefix(4)
                    .map { $0.trimmingCharacters(in: .whitespaces).replacing("`", with: "") }
            }
    }
}
