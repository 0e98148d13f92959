import ArgumentParser
import Control
import Meters

struct MetricsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics",
        abstract: "Prints counters and durations in the text format of Prometheus.",
        discussion: """
            Without a path, those of all your mounts; the label `mount` tells them apart. They are \
            for a collector, such as the textfile collector of node_exporter. \
            Each is described in control-api.md, with the other documents of Apus.

            EXAMPLES:
              apus metrics
              apus metrics ~/Cloud | grep ^apus_pending
              apus metrics > /var/lib/node_exporter/apus.prom
            """)

    @Argument(help: "A folder that is mounted.", completion: .directory)
    var mount: String?

    func run() async throws {
        var texts: [String] = []
        for target in try Daemons().targets(ofPathsOrAll: mount.map { [$0] } ?? []) {
            texts.append(try await target.client.metrics())
        }
        Console.write(PrometheusText.joined(texts))
    }
}
