import Testing

/// A certificate authority that no system trusts, and its certificate for 127.0.0.1.
struct CertificateAuthority {
    let directory: String

    /// The authority's own certificate, to be trusted.
    var file: String { "\(directory)/authority.pem" }
    private var key: String { "\(directory)/authority.key" }
    /// The certificate for 127.0.0.1, and its key.
    var serverFile: String { "\(directory)/server.pem" }
    var serverKey: String { "\(directory)/server.key" }

    func make() throws {
        let elliptic = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        try run(
            ["req", "-x509"] + elliptic + [
                "-days", "2", "-subj", "/CN=authority", "-keyout", key, "-out", file,
            ])
        try run(
            ["req", "-x509"] + elliptic + [
                "-days", "2", "-subj", "/CN=server", "-addext", "subjectAltName=IP:127.0.0.1",
                "-addext", "basicConstraints=critical,CA:FALSE", "-CA", file, "-CAkey", key,
                "-keyout", serverKey, "-out", serverFile,
            ])
    }

    var apacheSettings: String {
        """
        SSLEngine on
        SSLCertificateFile \(serverFile)
        SSLCertificateKeyFile \(serverKey)
        """
    }

    private func run(_ arguments: [String]) throws {
        let result = try Program.start(["openssl"] + arguments).wait()
        try #require(result.status == 0, Comment(rawValue: result.description))
    }
}
