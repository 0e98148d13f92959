import Foundation
import GRDB

/// Names as arguments of a single statement, which reads them from `json_each(:places) AS page`.
///
/// JSON cannot hold arbitrary bytes. The names are passed as one blob, beside a list of numbers: the
/// offset of a name in the blob, and in the lowest byte its length.
struct PackedNames {
    /// In SQL, the name of a row of `page`. Its `key` is the index of the name.
    static let name = "substr(:bytes, page.value >> 8, page.value & 255)"

    private var places = "["
    private var bytes = Data()

    init(_ names: some Sequence<FileName>) {
        for name in names {
            if !bytes.isEmpty { places += "," }
            places += String((bytes.count + 1) << 8 | name.bytes.count)
            bytes += name.bytes
        }
        places += "]"
    }

    /// The arguments of these names, and others.
    func arguments(_ others: StatementArguments = [:]) -> StatementArguments {
        others + ["places": places, "bytes": bytes]
    }
}
