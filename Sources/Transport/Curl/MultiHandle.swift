import CCurl

/// The libcurl multi handle of one thread, which makes, uses and ends it.
struct MultiHandle: ~Copyable {
    let pointer: UnsafeMutableRawPointer

    /// Connections that are kept open for the next request.
    private static let connectionsMax = 64
    /// With HTTP/2, requests over one connection; more of them open another one, for speed.
    private static let streamsMax = 8

    /// - Returns: nil where there is no memory left.
    init?() {
        guard let pointer = curl_multi_init() else { return nil }
        apus_multi_set_long(pointer, CURLMOPT_MAXCONNECTS, Self.connectionsMax)
        apus_multi_set_long(pointer, CURLMOPT_MAX_CONCURRENT_STREAMS, Self.streamsMax)
        self.pointer = pointer
    }

    deinit {
        curl_multi_cleanup(pointer)
    }

    func add(_ transfer: Transfer) -> CURLMcode {
        curl_multi_add_handle(pointer, transfer.pointer)
    }

    func remove(_ transfer: Transfer) {
        curl_multi_remove_handle(pointer, transfer.pointer)
    }

    /// Reads and writes what is possible without waiting.
    func perform() {
        var running: Int32 = 0
        curl_multi_perform(pointer, &running)
    }

    /// The next transfer that has ended since the last call, and how.
    func nextEnded() -> (easy: UnsafeMutableRawPointer, code: CURLcode)? {
        var left: Int32 = 0
        while let message = curl_multi_info_read(pointer, &left) {
            if message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle {
                return (easy, message.pointee.data.result)
            }
        }
        return nil
    }

    /// Waits until there is something to do, `curl_multi_wakeup` is called, or `limit` is over.
    ///
    /// libcurl wakes earlier for its own timers.
    func wait(atMost limit: Duration) {
        curl_multi_poll(pointer, nil, 0, Int32(clamping: limit.milliseconds), nil)
    }
}
