/// The reason why a request to the daemon failed.
package struct ControlError: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable, CaseIterable {
        /// The request is malformed. HTTP 400.
        case invalid
        /// The path names nothing below the mount point. HTTP 404.
        case missing
        /// The request is valid but not possible now. HTTP 409.
        case refused
        /// Any other failure in the daemon. HTTP 500.
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
    /// The corresponding HTTP status.
    package var status: Int {
        switch self {
        case .invalid: 400
        case .missing: 404
        case .refused: 409
        case .failed: 500
        case .unreachable: 503
        }
    }

    /// Maps a status from 400 on; `.invalid` or `.failed` for a status that the daemon never sends.
    package init(status: Int) {
        self =
            Self.allCases.first { $0.status == status } ?? (status < 500 ? .invalid : .failed)
    }
}

/// The JSON form of an error: the body of a refusal, or the last line of a stream.
struct ErrorBody: Codable {
    var error: Problem
}
