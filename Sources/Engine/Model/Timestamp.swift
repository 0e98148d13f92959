/// A time in nanoseconds since 1970-01-01 UTC, as POSIX's `timespec`.
package struct Timestamp: Hashable, Comparable, Sendable {
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Clamps to 64 bits of nanoseconds (years 1677 to 2262).
    package init(seconds: Int64, nanoseconds: Int64 = 0) {
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflowOfSum) = scaled.addingReportingOverflow(nanoseconds)
        if overflow || overflowOfSum {
            self.nanoseconds = seconds < 0 ? .min : .max
        } else {
            self.nanoseconds = sum
        }
    }

    /// Whole seconds, rounded down, so that ``nanosecondsOfSecond`` is never negative.
    package var seconds: Int64 {
        nanoseconds >= 0 ? nanoseconds / 1_000_000_000 : (nanoseconds + 1) / 1_000_000_000 - 1
    }

    package var nanosecondsOfSecond: Int64 {
        let rest = nanoseconds % 1_000_000_000
        return rest < 0 ? rest + 1_000_000_000 : rest
    }

    /// The begin of its minute.
    var wholeMinute: Timestamp {
        let part = nanoseconds % 60_000_000_000
        return Timestamp(nanoseconds: nanoseconds - (part < 0 ? 0 : part))
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}
