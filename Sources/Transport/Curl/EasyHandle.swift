import CCurl

/// One libcurl easy handle and the memory that it points into, with one owner.
///
/// libcurl allows a handle to move between threads, but not to be used by two at once: see
/// ``Transfer``.
struct EasyHandle: ~Copyable {
    let pointer: UnsafeMutableRawPointer
    /// `CURL_ERROR_SIZE` bytes into which libcurl writes error messages.
    private let reasonBuffer: UnsafeMutablePointer<CChar>
    private var headers: UnsafeMutablePointer<curl_slist>?

    /// - Returns: nil if there is no memory left.
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

    /// Adds request headers. libcurl reads the list during the transfer, so the handle keeps it.
    ///
    /// - Parameter suppressed: Names of headers that libcurl must not add by itself.
    mutating func setHeaders(
        _ fields: [(name: String, value: String)], suppressed: [String]
    ) -> CURLcode {
        // To libcurl, `Name:` means not to send the header, and `Name;` to send it without a value.
        let lines = fields.map { $1.isEmpty ? "\($0);" : "\($0): \($1)" }
        for line in lines + suppressed.map({ "\($0):" }) {
            guard let longer = curl_slist_append(headers, line) else {
                return CURLE_OUT_OF_MEMORY
            }
            headers = longer
        }
        return apus_easy_set_pointer(pointer, CURLOPT_HTTPHEADER, headers)
    }

    /// Makes child processes not inherit the sockets, and a connection end that stalls.
    ///
    /// - Parameter stallMax: The longest time for which sent bytes may stay unacknowledged. libcurl
    ///   does not see that, once all bytes of a body are in the kernel's buffer.
    func setSocket(stallMax: Duration) -> CURLcode {
        apus_easy_set_socket(pointer, UInt32(clamping: stallMax.milliseconds))
    }

    func get(_ info: CURLINFO) -> Int {
        var value = 0
        return apus_easy_get_long(pointer, info, &value) == CURLE_OK ? value : 0
    }

    /// Returns libcurl's message for a transfer that failed with `code`.
    func reason(for code: CURLcode) -> String {
        let detail = String(cString: reasonBuffer)
        return detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
    }

    /// The library must be initialised once, before any other call.
    private static let libraryIsReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}
