/// Metrics in the text format of Prometheus, version 0.0.4.
package enum PrometheusText {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// - Parameter common: Labels of every sample, before its own.
    package static func format(
        _ families: [MetricFamily], common: [MetricFamily.Label] = []
    ) -> String {
        var text = ""
        for family in families {
            text += "# HELP \(family.name) \(escaped(family.help, quotes: false))\n"
            text += "# TYPE \(family.name) \(family.kind.rawValue)\n"
            for sample in family.samples { append(sample, of: family, common, to: &text) }
        }
        return text
    }

    /// Joins the texts of several processes: the samples of each metric come together, as the format
    /// requires.
    package static func joined(_ texts: [String]) -> String {
        var order: [Substring] = []
        var heads: [Substring: [Substring]] = [:]
        var samples: [Substring: [Substring]] = [:]
        for text in texts {
            var name = Substring()
            for line in text.split(separator: "\n") {
                guard line.hasPrefix("# ") else {
                    samples[name, default: []].append(line)
                    continue
                }
                let words = line.split(separator: " ", maxSplits: 3)
                name = words.count > 2 ? words[2] : ""
                if heads[name] == nil { order.append(name) }
                if heads[name, default: []].contains(line) { continue }
                heads[name, default: []].append(line)
            }
        }
        return order.flatMap { (heads[$0] ?? []) + (samples[$0] ?? []) }
            .map { $0 + "\n" }.joined()
    }

    private static func append(
        _ sample: MetricFamily.Sample, of family: MetricFamily, _ common: [MetricFamily.Label],
        to text: inout String
    ) {
        let labels = common + sample.labels
        switch sample.value {
        case .count(let count): text += line(family.name, labels, "\(count)")
        case .number(let number): text += line(family.name, labels, formatted(number))
        case .distribution(let snapshot):
            var sum: UInt64 = 0
            for (index, count) in snapshot.counts.enumerated() {
                sum += count
                let bounds = Histogram.bounds
                let bound =
                    index < bounds.count ? formatted(Double(bounds[index]) / 1e9) : "+Inf"
                text += line(family.name + "_bucket", labels + [.init("le", bound)], "\(sum)")
            }
            text += line(
                family.name + "_sum", labels, formatted(Double(snapshot.nanoseconds) / 1e9))
            text += line(family.name + "_count", labels, "\(sum)")
        }
    }

    private static func line(
        _ name: String, _ labels: [MetricFamily.Label], _ value: String
    ) -> String {
        let list = labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }
        return name + (list.isEmpty ? "" : "{\(list.joined(separator: ","))}") + " \(value)\n"
    }

    private static func formatted(_ number: Double) -> String {
        number == number.rounded() && number.magnitude < 1e15 ? "\(Int64(number))" : "\(number)"
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
    }
}
