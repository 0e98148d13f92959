/// The reason why a request to the daemon failed.
package struct ControlError: Error, Hashable, Sendable {
    /// Raw values are the corresponding HTTP statuses.
    package enum Kind: Int, Sendable, CaseIterable {
        /// The request is malformed.
        case invalid = 400
        /// The token of the web page is missing or wrong.
        case unauthorised = 401
        /// Another site has sent the request.
        case forbidden = 403
        /// The path names nothing below the mount point.
        case missing = 404
        /// The request is valid but not possible now.
        case refused = 409
        /// Any other failure in the daemon.
        case failed = 500
        /// The daemon is starting, stopping or dead.
        case unreachable = 503
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

    /// For the position of a page that is not from the answer before.
    package static func wrongPosition(of path: String) -> Self {
        Self(
            .invalid, what: "list \"\(path)\"", why: "\"after\" is not a position",
            remedy: "send the \"next\" of the page before")
    }
}

extension ControlError.Kind {
    /// Maps a status from 400 on; `.invalid` or `.failed` for a status that the daemon never sends.
    package init(status: Int) {
        self = Self(rawValue: status) ?? (status < 500 ? .invalid : .failed)
    }
}

/// The JSON form of an error: the body of a refusal, or the last line of a stream.
struct ErrorBody: Codable {
    var error: Problem
}
