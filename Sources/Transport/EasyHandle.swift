import CCurl

/// One libcurl easy handle with what it points into. It has one owner, and ends with it.
///
/// libcurl lets a handle move between threads, but not be used by two at once: see ``Transfer``.
struct EasyHandle: ~Copyable {
    let pointer: UnsafeMutableRawPointer
    /// `CURL_ERROR_SIZE` bytes that libcurl writes its reason into.
    private let reasonBuffer: UnsafeMutablePointer<CChar>
    private var headers: UnsafeMutablePointer<curl_slist>?

    /// - Returns: nil where there is no memory left.
    init?() {
        guard Self.libraryIsReady, let pointer = curl_easy_init() else { return nil }
        self.pointer = pointer
        reasonBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        reasonBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        headers = nil
        apus_easy_set_pointer(pointer, CURLOPT_ERRORBUFFER, reasonBuffer)
    }

    deinit {
        curl_easy_cleanup(pointer)
        curl_slist_free_all(headers)
        reasonBuffer.deallocate()
    }

    func set(_ option: CURLoption, _ value: Int) -> CURLcode {
        apus_easy_set_long(pointer, option, value)
    }

    func set(_ option: CURLoption, _ value: String) -> CURLcode {
        apus_easy_set_string(pointer, option, value)
    }

    /// Sends a copy of `bytes` as the request's body.
    func setBody(_ bytes: [UInt8]) -> CURLcode {
        let sized = apus_easy_set_offset(
            pointer, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count))
        guard sized == CURLE_OK else { return sized }
        // The size has to be known before, since libcurl copies as many bytes at once.
        return bytes.withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress else { return set(CURLOPT_COPYPOSTFIELDS, "") }
            return apus_easy_set_pointer(
                pointer, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: start))
        }
    }

    /// Adds request headers; libcurl reads the list during the transfer, so the handle keeps it.
    mutating func setHeaders(_ fields: [(name: String, value: String)]) -> CURLcode {
        for (name, value) in fields {
            guard let longer = curl_slist_append(headers, "\(name): \(value)") else {
                return CURLE_OUT_OF_MEMORY
            }
            headers = longer
        }
        return apus_easy_set_pointer(pointer, CURLOPT_HTTPHEADER, headers)
    }

    /// Hands the response's body to `callback` with `context`, which must outlive the transfer.
    func setBodyCallback(
        _ callback: apus_data_callback, context: UnsafeMutableRawPointer
    ) -> CURLcode {
        let set = apus_easy_set_data_callback(pointer, CURLOPT_WRITEFUNCTION, callback)
        guard set == CURLE_OK else { return set }
        return apus_easy_set_pointer(pointer, CURLOPT_WRITEDATA, context)
    }

    func get(_ info: CURLINFO) -> Int {
        var value = 0
        return apus_easy_get_long(pointer, info, &value) == CURLE_OK ? value : 0
    }

    /// libcurl's words for why the transfer failed with `code`.
    func reason(for code: CURLcode) -> String {
        let detail = String(cString: reasonBuffer)
        return detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
    }

    /// The library wants to be set up once, before any other call.
    private static let libraryIsReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}
