import Engine
import Transport

/// Why a SOURCE cannot be mounted: for the user, who wrote it.
package struct SourceError: Error, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// The text is no SOURCE, or not in this version.
        case misspelled
        /// It is one, and cannot be opened.
        case unavailable
    }

    package let kind: Kind
    /// What is wrong: `there is no kind of source "foldr"`.
    package let problem: String
    /// What the user can do: `did you mean "folder:"?`.
    package let remedy: String
    /// The failure underneath, for the log; never shown alone.
    package let cause: (any Error)?

    package init(
        _ kind: Kind, _ problem: String, remedy: String, cause: (any Error)? = nil
    ) {
        self.kind = kind
        self.problem = problem
        self.remedy = remedy
        self.cause = cause
    }

    /// One line that says both.
    package var description: String { "\(problem); \(remedy)" }
}

extension ProviderError {
    /// What to do about a server that cannot be spoken to when it is mounted, after what it said.
    var explained: String {
        switch (cause as? TransportError)?.kind {
        case .tls?: "\(reason); --ca-file names an authority of one's own"
        // OpenSSL's words, then those of GnuTLS, for an answer in plain text.
        case .unreachable?
        where reason.contains("wrong version number") || reason.contains("unexpected TLS packet"):
            "what answers there speaks no TLS: write http:// for https://, where it may go "
                + "unencrypted, or check the port"
        case .unreachable?: "\(reason); check the address, and that the server runs there"
        default: reason
        }
    }
}
