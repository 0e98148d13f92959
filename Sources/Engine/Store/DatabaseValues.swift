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

    func bind(to statement: SQLiteStatement, at index: CInt) -> CInt {
        stored.bind(to: statement, at: index)
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

extension WriteNonce: StoredValue {
    init(stored: String) { self.init(stored) }
    var stored: String { description }
}

extension UploadToken: StoredValue {
    init(stored: String) { self.init(stored) }
    var stored: String { rawValue }
}

/// A path: the names, separated by `/`.
extension ObjectKey: StoredValue {
    init(stored: Data) {
        self.init(stored.split(separator: UInt8(ascii: "/")).map { FileName(stored: Array($0)) })
    }
    var stored: Data { Data(names.map(\.bytes).joined(separator: [UInt8(ascii: "/")])) }
}

extension ExtendedAttributes: StoredValue {
    init(stored: Data) { self = ExtendedAttributes(encoded: stored) ?? ExtendedAttributes() }
    var stored: Data { Data(encoded) }
}

extension ContentDigest: StoredValue {
    init(stored: Data) { self.init(bytes: [UInt8](stored)) }
    var stored: Data { Data(bytes) }
}

extension UInt64 {
    /// SQLite's integers are signed; sizes beyond them are refused before they are stored.
    init(stored value: Int64) { self.init(bitPattern: value) }
    var stored: Int64 { Int64(bitPattern: self) }
}

extension FileKind: DatabaseValueConvertible, StatementColumnConvertible {}
extension Presence: DatabaseValueConvertible, StatementColumnConvertible {}
extension EngineError.Kind: DatabaseValueConvertible {}
