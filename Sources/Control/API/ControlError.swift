/// Why the daemon did not do what it was asked, or could not be asked.
package struct ControlError: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable, CaseIterable {
        /// The request makes no sense. HTTP 400.
        case invalid
        /// The path names nothing below the mount point. HTTP 404.
        case missing
        /// It makes sense, and must not be done now. HTTP 409.
        case refused
        /// Everything else that went wrong in the daemon. HTTP 500.
        case failed
        /// The daemon is starting, stopping or dead. HTTP 503.
        case unreachable
    }

    package let kind: Kind
    package let problem: Problem

    package init(_ kind: Kind, what: String, why: String, remedy: String? = nil) {
        self.init(kind, Problem(what: what, why: why, remedy: remedy))
    }

    package init(_ kind: Kind, _ problem: Problem) {
        self.kind = kind
        self.problem = problem
    }
}

extension ControlError.Kind {
    /// The HTTP status that carries it.
    package var status: Int {
        switch self {
        case .invalid: 400
        case .missing: 404
        case .refused: 409
        case .failed: 500
        case .unreachable: 503
        }
    }

    /// What a status of 400 and above means; `.invalid` and `.failed` for those we never send.
    package init(status: Int) {
        self =
            Self.allCases.first { $0.status == status } ?? (status < 500 ? .invalid : .failed)
    }
}

/// How an error travels: the whole body of a refusal, or the last line of a stream.
struct ErrorBody: Codable {
    var error: Problem
}
