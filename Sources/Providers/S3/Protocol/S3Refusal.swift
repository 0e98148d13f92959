import Engine
import ProviderSupport
import Transport

/// The answer of a store that refuses a request.
struct S3Refusal: Error, Hashable, Sendable {
    let status: Int
    /// `NoSuchKey`; empty if the answer has no body, as with HEAD.
    var code = ""
    /// The store's message, cut to a line.
    var message = ""
    /// The region of the bucket, if the request went to another one.
    var region: String?
    var retryAfter: Duration?
    /// How far the store's clock is ahead of ours; nil if unknown.
    var skew: Duration?

    private static let messageMax = 300
    /// A century: a larger difference is an invalid date, and could overflow.
    private static let skewSecondsMax: Int64 = 100 * 366 * 86_400

    func error() -> ProviderError {
        ProviderError(
            kind, reason, retryAfter: kind == .busy ? retryAfter : nil, cause: self)
    }

    /// The kind of error for the engine. A code tells more than the status.
    var kind: ProviderError.Kind {
        switch code {
        case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken",
            "TokenRefreshRequired", "AuthorizationHeaderMalformed", "RequestTimeTooSkewed",
            "InvalidSecurity", "CredentialsNotSupported", "UnauthorizedAccess":
            .unauthorized
        case "AccessDenied", "AllAccessDisabled", "AccountProblem", "NotSignedUp",
            "InvalidPayer", "MethodNotAllowed":
            .denied
        case "SlowDown", "ServiceUnavailable", "RequestLimitExceeded", "TooManyRequests",
            "Throttling", "ThrottlingException", "Busy", "ConditionalRequestConflict",
            "OperationAborted":
            .busy
        // A missing bucket does not mean that its objects were deleted.
        case "InternalError", "RequestTimeout", "IncompleteBody", "NoSuchBucket": .unreachable
        case "QuotaExceeded", "XMinioStorageFull", "InsufficientStorage",
            "XMinioAdminBucketQuotaExceeded", "ServiceQuotaExceededException":
            .full
        case "PreconditionFailed": .changed
        case "NoSuchKey", "NoSuchUpload", "NotFound": .missing
        case "BadDigest", "XAmzContentSHA256Mismatch", "InvalidDigest": .corrupt
        case "KeyTooLongError", "EntityTooLarge", "InvalidURI", "InvalidObjectState",
            "InvalidArgument", "InvalidRequest", "NotImplemented", "MetadataTooLarge":
            .unsupported
        default: kindOfStatus
        }
    }

    private var kindOfStatus: ProviderError.Kind {
        switch status {
        case 401: .unauthorized
        case 403: .denied
        case 404, 410: .missing
        case 409, 429, 503: .busy
        case 412: .changed
        case 507: .full
        case 400..<500, 501: .unsupported
        default: .unreachable
        }
    }

    private var reason: String {
        switch (code.isEmpty, message.isEmpty) {
        case (true, _): "the store answered with status \(status)"
        case (false, true): "the store answered \(code)"
        case (false, false): "\(message) (\(code))"
        }
    }
}

extension S3Refusal {
    init(_ response: HTTPResponse, body: [UInt8], now: Timestamp) {
        self.init(status: response.status)
        if let error = try? S3Element(parsing: body), error.name == "Error" {
            code = String((error.text("Code") ?? "").prefix(100))
            message = ForeignWords.line(
                error.text("Message") ?? "", charactersMax: Self.messageMax)
            region = error.text("Region")
        }
        region = response.headers["x-amz-bucket-region"] ?? region
        retryAfter = response.retryAfter(now: now.seconds)
        let ahead = response.headers["date"].flatMap(Timestamp.init(httpDate:)).map {
            $0.seconds - now.seconds
        }
        skew = ahead.flatMap { abs($0) <= Self.skewSecondsMax ? .seconds($0) : nil }
    }
}

extension ProviderError {
    var refusal: S3Refusal? { cause as? S3Refusal }
}
