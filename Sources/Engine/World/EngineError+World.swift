extension EngineError {
    /// Converts a store's failure to that of a request for bytes or names.
    init(_ error: ProviderError) {
        let (kind, remedy): (Kind, String?) =
            switch error.kind {
            case .unreachable, .busy: (.unreachable, "check the connection to the remote")
            case .corrupt: (.failed, "the remote sent damaged replies; try again later")
            case .changed: (.changedRemotely, "open the file again")
            case .missing: (.notFound, nil)
            case .unauthorized: (.denied, "renew the credentials; sync then resumes by itself")
            case .denied: (.denied, "check the permissions on the remote")
            case .full: (.outOfSpace, "free space on the remote")
            case .cancelled: (.interrupted, nil)
            case .wrongKind: (.notDirectory, nil)
            case .exists: (.exists, nil)
            case .notEmpty: (.notEmpty, nil)
            case .unsupported: (.unsupported, nil)
            case .sink, .source: (.failed, nil)
            }
        let isLocal = error.kind == .sink || error.kind == .source
        if let inner = error.cause as? DiskError {
            self.init(inner, error.attempt, remedy: error.remedy)
        } else if isLocal, let inner = error.cause.flatMap(EngineError.contained) {
            self = inner
        } else {
            self.init(
                kind, "\(error.attempt): \(error.reason)", remedy: error.remedy ?? remedy,
                cause: error)
        }
    }

    /// Returns the engine's failure that an error is, or contains as a reason to be blocked.
    static func contained(in error: any Error) -> EngineError? {
        if case .failure(let failure)? = error as? Blocked { return failure }
        return error as? EngineError
    }
}

/// Runs local work for a caller that needs nothing from the remote.
func completed<Value>(_ work: () throws(Blocked) -> Value) throws(EngineError) -> Value {
    do throws(Blocked) {
        return try work()
    } catch {
        throw error.failure
    }
}

/// A variant of ``completed(_:)`` for a single call.
func completed<Value>(
    do call: @autoclosure () throws(Blocked) -> Value
) throws(EngineError) -> Value {
    try completed(call)
}

/// Runs disk work and converts its failures.
func onDisk<Value>(
    _ attempt: @autoclosure () -> String, _ body: () throws(DiskError) -> Value
) throws(Blocked) -> Value {
    do throws(DiskError) {
        return try body()
    } catch {
        throw .failure(EngineError(error, attempt()))
    }
}

extension ProviderError {
    /// Converts the failure of local work during an operation on the remote. It says nothing about
    /// the remote, so it is reported as one of the operation's source.
    init(preparing error: any Error) {
        let cause = EngineError.contained(in: error) ?? error
        self =
            error as? ProviderError
            ?? ProviderError(
                .source, attempt: "prepare a change for the remote", reason: "\(cause)",
                cause: cause)
    }
}

/// A variant of ``onDisk(_:_:)`` for a single call.
func onDisk<Value>(
    _ attempt: @autoclosure () -> String, do call: @autoclosure () throws(DiskError) -> Value
) throws(Blocked) -> Value {
    try onDisk(attempt(), call)
}

/// Runs local work during an operation on the remote, and converts its failures.
func engineWork<Value, Failure: Error>(
    _ work: () throws(Failure) -> Value
) throws(ProviderError) -> Value {
    do throws(Failure) {
        return try work()
    } catch {
        throw ProviderError(preparing: error)
    }
}
