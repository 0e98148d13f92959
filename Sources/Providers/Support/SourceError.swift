package import Engine
import Transport

/// The reason why a SOURCE cannot be mounted, for the user who wrote it.
package struct SourceError: Error, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// The text is not a SOURCE, or not one that this version supports.
        case misspelled
        /// The source is valid, but cannot be opened.
        case unavailable
    }

    package let kind: Kind
    /// The problem: `unknown kind of source "foldr"`.
    package let problem: String
    /// The remedy: `did you mean "folder:"?`.
    package let remedy: String
    /// The underlying failure, for the log; never shown alone.
    package let cause: (any Error)?

    package init(
        _ kind: Kind, _ problem: String, remedy: String, cause: (any Error)? = nil
    ) {
        self.kind = kind
        self.problem = problem
        self.remedy = remedy
        self.cause = cause
    }

    /// Whether the same source may open later with nothing else changed: the store is out of reach, or
    /// too busy.
    package var isPassing: Bool { (cause as? ProviderError)?.isPassing ?? false }

    /// Problem and remedy in one line.
    package var description: String { "\(problem); \(remedy)" }
}

extension ProviderError {
    /// The reason why a server cannot be used, and the remedy.
    package var advice: (reason: String, remedy: String) {
        if let remedy { return (reason, remedy) }
        let transport = cause as? TransportError
        if let proxy = transport?.proxy {
            return (
                reason,
                "check that it runs, correct \(proxy.variable), or add the host to no_proxy"
            )
        }
        switch transport?.kind {
        // The messages of OpenSSL and GnuTLS have these parts in common.
        case .tls? where reason.contains("has expired") || reason.contains("date has passed"):
            return (reason, "have the server's certificate renewed, and check this machine's clock")
        case .tls? where reason.contains("not yet valid"):
            return (reason, "check this machine's clock, and the server's certificate")
        case .tls? where reason.contains("match"):
            return (
                reason, "use the name in the certificate, or have the certificate corrected"
            )
        // Also for a file without any certificate.
        case .tls?
        where reason.contains("certificate file") || reason.contains("ca cert file"):
            return (
                reason,
                "check --ca-file: the file must contain PEM certificates"
            )
        case .tls?: return (reason, "use --ca-file for a private certificate authority")
        // The messages of OpenSSL, then of GnuTLS, for a reply in plain text.
        case .unreachable?
        where reason.contains("wrong version number") || reason.contains("unexpected TLS packet"):
            return (
                "the server does not speak TLS",
                "check the port, or write http:// if an unencrypted connection is acceptable"
            )
        case .unreachable? where Self.olderTLS.contains(where: reason.contains):
            return (
                "the server does not support TLS 1.2 or later (\(reason))",
                "enable TLS 1.2 or 1.3 on the server; older versions are not safe"
            )
        case .unreachable?:
            return (reason, "check the address, and that the server is running")
        default: return (reason, "check the address")
        }
    }

    /// Reason and remedy in one sentence.
    package var explained: String { "\(advice.reason); \(advice.remedy)" }

    /// The messages of OpenSSL, then of GnuTLS, for a server that requires an older version.
    private static let olderTLS = [
        "alert protocol version", "unsupported protocol", "wrong ssl version",
        "Error in protocol version", "unsupported version",
    ]
}
