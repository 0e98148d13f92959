extension EngineError {
    /// Whether this machine has run out of a resource that may become free by itself.
    fileprivate var isLocalAndPassing: Bool {
        kind == .tooManyOpen || kind == .outOfSpace && (cause as? ProviderError)?.kind != .full
    }
}
extension SyncFailure {
    init(_ error: any Error) {
        switch error {
        case let error as ProviderError:
            let known = EngineError(error)
            // A temporary failure needs no remedy, unless the store suggests one.
            self.init(
                kind: known.kind, what: error.attempt, why: error.reason,
                remedy: error.isPassing ? error.remedy : known.remedy,
                isFinal: !error.isPassing && !known.isLocalAndPassing)
        case let error as EngineError:
            self.init(
                kind: error.kind, what: error.attempt, why: error.kind.phrase,
                remedy: error.remedy, isFinal: !error.isLocalAndPassing)
        case .failure(let error) as Blocked:
            self.init(error)
        default:
            self.init(
                kind: .failed, what: "synchronise", why: "\(error)", remedy: nil, isFinal: true)
        }
    }
}
