import CCurl

extension TransportError.Kind {
    init(_ code: CURLcode) {
        self =
            switch code {
            case CURLE_COULDNT_CONNECT, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY,
                CURLE_SSL_CONNECT_ERROR, CURLE_PROXY:
                .unreachable
            case CURLE_OPERATION_TIMEDOUT: .timedOut
            case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
                CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CIPHER, CURLE_SSL_PINNEDPUBKEYNOTMATCH:
                .tls
            case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE,
                CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_SEND_FAIL_REWIND, CURLE_UPLOAD_FAILED:
                .interrupted
            // libcurl before 8.6 reports this for a header line longer than 100 KiB.
            case CURLE_OUT_OF_MEMORY: .tooLarge
            default: .invalid
            }
    }
}

extension TransportError {
    /// Whether connection after connection had been closed by the server while it was idle.
    ///
    /// libcurl repeats a request on another kept connection if one turns out to be closed before a byte of the
    /// answer, but only five times. It does not notice beforehand if the server has said goodbye, as TLS does:
    /// those bytes count as a sign of life. Only the message tells this from other broken connections.
    var isOfDeadConnections: Bool {
        kind == .interrupted && reason.hasPrefix("Connection died, tried")
    }
}
