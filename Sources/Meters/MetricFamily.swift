/// All samples of one metric.
package struct MetricFamily: Sendable {
    package enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    package enum Value: Sendable {
        case count(UInt64)
        case number(Double)
        case distribution(Histogram.Snapshot)
    }

    package struct Label: Hashable, Sendable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            (self.name, self.value) = (name, value)
        }
    }

    package struct Sample: Sendable {
        package let labels: [Label]
        package let value: Value

        package init(_ value: Value, labels: [Label] = []) {
            (self.value, self.labels) = (value, labels)
        }
    }

    package let name: String
    package let kind: Kind
    /// One line.
    package let help: String
    package let samples: [Sample]

    package init(_ name: String, _ kind: Kind, help: String, samples: [Sample]) {
        self.name = name
        self.kind = kind
        self.help = help
        self.samples = samples
    }
}
