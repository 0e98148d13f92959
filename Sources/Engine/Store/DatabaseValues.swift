import Foundation
import GRDB

// The values of the engine as statement arguments and columns.

/// A type that is stored as another one.
protocol StoredValue: DatabaseValueConvertible, StatementColumnConvertible {
    associatedtype Stored: DatabaseValueConvertible & StatementColumnConvertible

    /// - Parameter stored: Valid: `apus check` replaces invalid values.
    init(stored: Stored)

    var stored: Stored { get }
}

extension StoredValue {
    var databaseValue: DatabaseValue { stored.databaseValue }

    static func fromDatabaseValue(_ value: DatabaseValue) -> Self? {
        Stored.fromDatabaseValue(value).map(Self.init(stored:))
    }

    init?(sqliteStatement: SQLiteStatement, index: CInt) {
        guard let stored = Stored(sqliteStatement: sqliteStatement, index: index) else {
            return nil
        }
        self.init(stored: stored)
    }
}

extension InodeNumber: StoredValue {
    init(stored: Int64) { self.init(rawValue: stored) }
    var stored: Int64 { rawValue }
}

extension Timestamp: StoredValue {
    init(stored: Int64) { self.init(nanoseconds: stored) }
    var stored: Int64 { nanoseconds }
}

extension FileName: StoredValue {
    init(stored: Data) { self.init(stored: [UInt8](stored)) }
    var stored: Data { Data(bytes) }
}

extension ETag: StoredValue {
    init(stored: String) { self.init(stored) }
    var stored: String { description }
}

extension UploadToken: StoredValue {
    init(stored: String) { self.init(stored) }
    var stored: String { rawValue }
}

extension ExtendedAttributes: StoredValue {
    init(stored: Data) { self = ExtendedAttributes(encoded: stored) ?? ExtendedAttributes() }
    var stored: Data { Data(encoded) }
}

extension ContentDigest: StoredValue {
    init(stored: Data) { self.init(bytes: [UInt8](stored)) }
    var stored: Data { Data(bytes) }
}

extension FileKind: DatabaseValueConvertible {}
extension Presence: DatabaseValueConvertible {}
extension EngineError.Kind: DatabaseValueConvertible {}
