import Engine

/// What a provider did otherwise than the contract says.
package struct ConformanceFailure: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// - Throws: ``ConformanceFailure`` unless `condition` holds.
func require(_ condition: Bool, _ expectation: @autoclosure () -> String) throws {
    if !condition { throw ConformanceFailure("expected that \(expectation())") }
}

/// - Throws: ``ConformanceFailure`` unless both are equal.
func require<Value: Equatable>(
    _ found: Value, equals expected: Value, _ what: @autoclosure () -> String
) throws {
    if found != expected {
        throw ConformanceFailure("\(what()): expected \(expected), found \(found)")
    }
}

/// - Throws: ``ConformanceFailure`` unless both are equal, but for how late others may have written
///   them: a look knows that better than a change.
func require(
    _ found: RemoteObject, equals expected: RemoteObject, _ what: @autoclosure () -> String
) throws {
    var expected = expected
    expected.remoteModified = found.remoteModified
    if found != expected {
        throw ConformanceFailure("\(what()): expected \(expected), found \(found)")
    }
}
