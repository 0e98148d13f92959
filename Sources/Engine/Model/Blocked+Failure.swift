extension Blocked {
    /// The failure, for callers that never need remote data.
    var failure: EngineError {
        switch self {
        case .failure(let error): return error
        case .awaits(let need): preconditionFailure("\(need) is needed, but cannot be fetched")
        }
    }
}
