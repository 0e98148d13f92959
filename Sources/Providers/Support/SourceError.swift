package import Engine
import Transport

/// Why a SOURCE cannot be mounted: for the user, who wrote it.
package struct SourceError: Error, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// The text is not a SOURCE, or not one of this version.
        case misspelled
        /// It is one, and cannot be opened.
        case unavailable
    }

    package let kind: Kind
    /// The problem: `there is no kind of source "foldr"`.
    package let problem: String
    /// A suggestion for the user: `did you mean "folder:"?`.
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
    /// Explains why a server cannot be reached, with a remedy.
    package var advice: (reason: String, remedy: String) {
        if let remedy { return (reason, remedy) }
        let transport = cause as? TransportError
        if let proxy = transport?.proxy {
            return (
                reason,
                "check that it runs, correct \(proxy.variable), or name the host in no_proxy"
            )
        }
        switch transport?.kind {
        // The words of OpenSSL and of GnuTLS are the same as far as this.
        case .tls? where reason.contains("has expired") || reason.contains("date has passed"):
            return (reason, "have the server's certificate renewed, and check this machine's clock")
        case .tls? where reason.contains("not yet valid"):
            return (reason, "check this machine's clock, and the server's certificate")
        case .tls? where reason.contains("match"):
            return (
                reason, "write the name that is in the server's certificate, or have it corrected"
            )
        // Also for a file in which no certificate is found.
        case .tls?
        where reason.contains("certificate file") || reason.contains("ca cert file"):
            return (
                reason,
                "that file has to hold certificates in PEM: check --ca-file"
            )
        case .tls?: return (reason, "--ca-file names an authority of one's own")
        // OpenSSL's words, then those of GnuTLS, for an answer in plain text.
        case .unreachable?
        where reason.contains("wrong version number") || reason.contains("unexpected TLS packet"):
            return (
                "what answers there speaks no TLS",
                "write http:// for https://, where it may go unencrypted, or check the port"
            )
        case .unreachable? where Self.olderTLS.contains(where: reason.contains):
            return (
                "the server offers no TLS from 1.2 on (\(reason))",
                "turn on TLS 1.2 or 1.3 there; what is older is not safe"
            )
        case .unreachable?:
            return (reason, "check the address, and that the server runs there")
        default: return (reason, "check the address")
        }
    }

    /// The same in one sentence.
    package var explained: String { "\(advice.reason); \(advice.remedy)" }

    /// The words of OpenSSL, then of GnuTLS, for a server that wants an older version.
    private static let olderTLS = [
        "alert protocol version", "unsupported protocol", "wrong ssl version",
        "Error in protocol version", "unsupported version",
    ]
}
