import Foundation
import GRDB

/// Names as arguments of a single statement, which reads them from `json_each(:places) AS page`.
///
/// JSON cannot hold arbitrary bytes. The names are passed as one blob, beside a list of numbers: the
/// offset of a name in the blob, and in the lowest byte its length.
struct PackedNames {
    /// In SQL, the name of a row of `page`. Its `key` is the index of the name.
    static let name = "substr(:bytes, page.value >> 8, page.value & 255)"

    private var places = [UInt8(ascii: "[")]
    private var bytes: [UInt8] = []

    init(_ names: some Sequence<FileName>) {
        for name in names {
            if !bytes.isEmpty { places.append(UInt8(ascii: ",")) }
            places.append(decimal: Int64((bytes.count + 1) << 8 | name.bytes.count))
            bytes += name.bytes
        }
        places.append(UInt8(ascii: "]"))
    }

    /// The arguments of these names, and others.
    func arguments(_ others: Arguments = [:]) -> Arguments {
        others + ["places": String(decoding: places, as: UTF8.self), "bytes": Data(bytes)]
    }
}

extension [UInt8] {
    /// Appends a number as decimal text, after spaces up to the width, which SQLite skips.
    mutating func append(decimal number: Int64, width: Int = 0) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var (rest, index) = (number.magnitude, digits.count)
            repeat {
                index -= 1
                digits[index] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            } while rest > 0
            if number < 0 {
                index -= 1
                digits[index] = UInt8(ascii: "-")
            }
            for _ in 0..<Swift.max(0, width - (digits.count - index)) {
                append(UInt8(ascii: " "))
            }
            append(contentsOf: digits[index...])
        }
    }
}
