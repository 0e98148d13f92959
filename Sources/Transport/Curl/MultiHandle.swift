import CCurl

/// The libcurl multi handle of one thread, which creates, uses and destroys it.
struct MultiHandle: ~Copyable {
    let pointer: UnsafeMutableRawPointer

    /// Requests per HTTP/2 connection; beyond that, another connection is faster.
    private static let streamsMax = 8

    /// - Parameter connectionsMax: Connections kept open for later requests.
    /// - Returns: nil if there is no memory left.
    init?(connectionsMax: Int) {
        guard let pointer = curl_multi_init() else { return nil }
        apus_multi_set_long(pointer, CURLMOPT_MAXCONNECTS, connectionsMax)
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

    /// Reads and writes without waiting.
    func perform() {
        var running: Int32 = 0
        curl_multi_perform(pointer, &running)
    }

    /// Returns the next transfer that has ended since the last call, and its result.
    func nextEnded() -> (easy: UnsafeMutableRawPointer, code: CURLcode)? {
        var left: Int32 = 0
        while let message = curl_multi_info_read(pointer, &left) {
            if message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle {
                return (easy, message.pointee.data.result)
            }
        }
        return nil
    }

    /// Waits until a socket or one of libcurl's timers is ready, `curl_multi_wakeup` is called, or
    /// `limit` has passed.
    func wait(atMost limit: Duration) {
        curl_multi_poll(pointer, nil, 0, Int32(clamping: limit.milliseconds), nil)
    }
}
