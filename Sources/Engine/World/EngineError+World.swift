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
        let isLocal =
            error.kind == .sink || error.kind == .source || error.isForLackOfDescriptors
        if isLocal, let inner = error.cause as? DiskError {
            self.init(inner, error.attempt)
        } else if isLocal, case .failure(let inner)? = error.cause as? Blocked {
            self = inner
        } else if isLocal, let inner = error.cause as? EngineError {
            self = inner
        } else {
            self.init(
                kind, "\(error.attempt): \(error.reason)", remedy: error.remedy ?? remedy,
                cause: error)
        }
    }
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

/// Runs local work during an operation on the remote. Its failure says nothing about the remote, so
/// it is reported as one of the operation's source.
func engineWork<Value, Failure: Error>(
    _ work: () throws(Failure) -> Value
) throws(ProviderError) -> Value {
    do throws(Failure) {
        return try work()
    } catch {
        throw ProviderError(
            .source, attempt: "prepare a change for the remote", reason: "\(error)",
            cause: error)
    }
}
