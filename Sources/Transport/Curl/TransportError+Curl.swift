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
