import Foundation
import GRDB
import Testing

@testable import Engine

/// Goal: a row that is read from its statement has the values of its columns.
struct StatementRowTests {
    private static let query = """
        SELECT NULL AS a, 7 AS b, 'text' AS c, x'0102' AS d, 1 AS e, NULL AS f
        UNION ALL SELECT 1, 8, '', x'', 0, 9 ORDER BY 2
        """

    private static func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try DatabaseQueue().read(body)
    }

    @Test func `columns are decoded, NULL in the first one, too`() throws {
        try Self.read { database in
            let rows = try database.rows(Self.query) { row in
                #expect(row[0] as Int64? == nil || row[0] as Int64 == 1)
                #expect(row[4] as Bool == (row[1] as InodeNumber == InodeNumber(rawValue: 7)))
                #expect(
                    row[5] as Timestamp?
                        == (row[0] as Int64?).map { _ in Timestamp(nanoseconds: 9) })
                return "\(row[1] as Int) \(row[2] as String) \([UInt8](row[3] as Data))"
            }
            #expect(rows == ["7 text [1, 2]", "8  []"])
        }
    }

    @Test func `a statement is used again after its first row, and after an error`() throws {
        try Self.read { database in
            for _ in 0..<2 {
                let first = try database.row(Self.query) { $0[1] as Int }
                #expect(first == 7)
            }
            #expect(throws: CocoaError.self) {
                try database.row(Self.query) { _ in throw CocoaError(.coderInvalidValue) }
            }
            #expect(try database.row(Self.query) { $0[1] as Int } == 7)
            #expect(try database.row("SELECT 1 WHERE ? = 2", [1]) { $0[0] as Int } == nil)
        }
    }
}
