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

    func set(_ option: CURLoption, offset value: UInt64) -> CURLcode {
        apus_easy_set_offset(pointer, option, curl_off_t(clamping: value))
    }

    func set(_ option: CURLoption, _ value: String) -> CURLcode {
        apus_easy_set_string(pointer, option, value)
    }

    /// Adds request headers; libcurl reads the list during the transfer, so the handle keeps it.
    ///
    /// - Parameter suppressed: The names of headers that libcurl would send by itself, and is not to.
    mutating func setHeaders(
        _ fields: [(name: String, value: String)], suppressed: [String]
    ) -> CURLcode {
        // libcurl takes `Name:` for a wish not to send it, and `Name;` for one without value.
        let lines = fields.map { $1.isEmpty ? "\($0);" : "\($0): \($1)" }
        for line in lines + suppressed.map({ "\($0):" }) {
            guard let longer = curl_slist_append(headers, line) else {
                return CURLE_OUT_OF_MEMORY
            }
            headers = longer
        }
        return apus_easy_set_pointer(pointer, CURLOPT_HTTPHEADER, headers)
    }

    /// Has libcurl call `callback` for `function`, with `context`, which must outlive the transfer.
    func setCallback(
        _ function: CURLoption, _ callback: apus_data_callback, _ data: CURLoption,
        context: UnsafeMutableRawPointer
    ) -> CURLcode {
        let set = apus_easy_set_data_callback(pointer, function, callback)
        guard set == CURLE_OK else { return set }
        return apus_easy_set_pointer(pointer, data, context)
    }

    func setSeekCallback(
        _ callback: apus_seek_callback, context: UnsafeMutableRawPointer
    ) -> CURLcode {
        let set = apus_easy_set_seek_callback(pointer, callback)
        guard set == CURLE_OK else { return set }
        return apus_easy_set_pointer(pointer, CURLOPT_SEEKDATA, context)
    }

    /// Keeps the sockets from programs that this process starts.
    func setCloseOnExec() -> CURLcode {
        apus_easy_set_close_on_exec(pointer)
    }

    func get(_ info: CURLINFO) -> Int {
        var value = 0
        return apus_easy_get_long(pointer, info, &value) == CURLE_OK ? value : 0
    }

    /// What the kernel still has to send, or to see acknowledged; nil where nothing is connected.
    var unsentBytes: Int? {
        let bytes = apus_easy_unsent_bytes(pointer)
        return bytes < 0 ? nil : bytes
    }

    /// libcurl's words for why the transfer failed with `code`.
    func reason(for code: CURLcode) -> String {
        let detail = String(cString: reasonBuffer)
        return detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
    }

    /// The library wants to be set up once, before any other call.
    private static let libraryIsReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}
