import CCurl
import SystemCalls

/// The libcurl multi handle of one thread, which creates, uses and destroys it.
struct MultiHandle: ~Copyable {
    private let pointer: UnsafeMutableRawPointer
    private let events: SocketEvents

    /// Requests per HTTP/2 connection; beyond that, another connection is faster.
    private static let streamsMax = 8

    /// - Returns: nil if there is no memory or no descriptor left.
    init?() {
        guard let events = SocketEvents(), let pointer = curl_multi_init() else { return nil }
        apus_multi_set_long(pointer, CURLMOPT_MAX_CONCURRENT_STREAMS, Self.streamsMax)
        events.attach(to: pointer)
        self.pointer = pointer
        self.events = events
    }

    deinit {
        // libcurl still reports the sockets that it closes.
        withExtendedLifetime(events) { _ = curl_multi_cleanup(pointer) }
    }

    /// See ``SocketEvents/ring(_:)``.
    var bell: Descriptor { events.bell }

    /// Sets how many connections stay open for later requests. libcurl closes the oldest idle one beyond that
    /// at the end of a transfer.
    func keepConnections(_ count: Int) {
        apus_multi_set_long(pointer, CURLMOPT_MAXCONNECTS, count)
    }

    func add(_ transfer: Transfer) -> CURLMcode {
        curl_multi_add_handle(pointer, transfer.pointer)
    }

    func remove(_ transfer: Transfer) {
        curl_multi_remove_handle(pointer, transfer.pointer)
    }

    /// Reads and writes without waiting.
    func perform() {
        events.perform(on: pointer)
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

    /// Waits until a socket or one of libcurl's timers is ready, the bell rings, or `limit` has passed.
    func wait(atMost limit: Duration) {
        events.wait(atMost: limit)
    }
}
