import CCurl

/// The libcurl multi handle of one thread, which makes, uses and ends it.
struct MultiHandle: ~Copyable {
    let pointer: UnsafeMutableRawPointer

    /// - Returns: nil where there is no memory left.
    init?() {
        guard let pointer = curl_multi_init() else { return nil }
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

    /// Waits until there is something to do, or ``Wakeup`` is called.
    func wait() {
        // libcurl wakes earlier for its own timers; the bound only matters if a wake-up got lost.
        curl_multi_poll(pointer, nil, 0, 60_000, nil)
    }
}
