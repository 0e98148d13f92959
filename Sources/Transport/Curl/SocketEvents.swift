import CCurl
import CLinux
import Glibc
import SystemCalls

/// Waits for the sockets and the timer that libcurl asks for.
///
/// The kernel keeps the list of the sockets (epoll), so a wait costs as much as there is news, and not as
/// there are connections. Used only by the transport's thread.
final class SocketEvents {
    /// The number of ready sockets that one wait reports; the next wait reports the others.
    private static let eventsMax = 256

    private let poller: Descriptor
    /// Wakes the thread; other threads write to it, see ``TransportThread``.
    let bell: Descriptor
    /// The longest time for which a lost event may delay a transfer.
    static let passInterval: Duration = .seconds(1)
    private var nextPass = ContinuousClock.now
    /// When libcurl's timer is due; nil if it is not set.
    private var due: ContinuousClock.Instant?
    /// The events that libcurl waits for, as `CURL_CSELECT_IN` and `CURL_CSELECT_OUT`.
    private var watched: [curl_socket_t: Int32] = [:]
    private let events = UnsafeMutableBufferPointer<epoll_event>.allocate(capacity: eventsMax)
    /// The number of ``events`` that the last wait has reported.
    private var eventCount = 0

    /// - Returns: nil if the process has no descriptor left.
    init?() {
        let poller = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard poller >= 0 else { return nil }
        self.poller = Descriptor(adopting: poller)
        let bell = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard bell >= 0 else { return nil }
        self.bell = Descriptor(adopting: bell)
        guard control(EPOLL_CTL_ADD, bell, EPOLLIN.rawValue) else { return nil }
    }

    deinit {
        events.deallocate()
    }

    /// Ends the thread's wait, or the next one. May be called on any thread.
    static func ring(_ bell: Descriptor) {
        var one: UInt64 = 1
        // Fails only if it has been rung before.
        _ = write(bell.rawValue, &one, MemoryLayout.size(ofValue: one))
    }

    // MARK: Requests of libcurl

    /// Makes `multi` report its sockets and its timer here, as long as it exists.
    func attach(to multi: UnsafeMutableRawPointer) {
        apus_multi_set_callbacks(
            multi, Unmanaged.passUnretained(self).toOpaque(), socketChanged, timerChanged)
    }

    fileprivate func watch(_ socket: curl_socket_t, for what: Int32) {
        if what == CURL_POLL_REMOVE {
            // It may be closed already, and the kernel has then forgotten it.
            if watched.removeValue(forKey: socket) != nil { _ = control(EPOLL_CTL_DEL, socket, 0) }
            return
        }
        var (mask, awaited) = (UInt32(0), Int32(0))
        if what & CURL_POLL_IN != 0 {
            mask |= EPOLLIN.rawValue
            awaited |= CURL_CSELECT_IN
        }
        if what & CURL_POLL_OUT != 0 {
            mask |= EPOLLOUT.rawValue
            awaited |= CURL_CSELECT_OUT
        }
        let isNew = watched.updateValue(awaited, forKey: socket) == nil
        if control(isNew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, mask) { return }
        // The number may be that of a socket which was closed without a notice.
        _ = control(isNew ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, mask)
    }

    private func control(_ operation: Int32, _ descriptor: Int32, _ mask: UInt32) -> Bool {
        var event = epoll_event(events: mask, data: epoll_data_t(fd: descriptor))
        return epoll_ctl(poller.rawValue, operation, descriptor, &event) == 0
    }

    fileprivate func setTimer(after milliseconds: Int) {
        due = milliseconds < 0 ? nil : .now + .milliseconds(milliseconds)
    }

    // MARK: Work

    /// Returns once there is work for ``perform(on:)``, the bell rings, or `limit` has passed.
    func wait(atMost limit: Duration) {
        var limit = limit
        if let due { limit = min(limit, due - .now) }
        let milliseconds = limit <= .zero ? 0 : Int32(clamping: limit.milliseconds)
        // After a signal there is nothing to do.
        eventCount = max(
            0,
            Int(
                epoll_wait(
                    poller.rawValue, events.baseAddress, Int32(Self.eventsMax), milliseconds)))
    }

    /// Tells libcurl of the sockets that were ready at the end of the last wait, and of its timer.
    ///
    /// At intervals it treats all sockets as ready: libcurl before 8.2 closes a socket whose connection
    /// failed without a notice, and the next one may have its number, unknown to the kernel's list.
    /// `curl_multi_perform` would advance transfers without reporting the sockets that they wait for next.
    func perform(on multi: UnsafeMutableRawPointer) {
        var running: Int32 = 0
        if nextPass <= .now {
            nextPass = .now + Self.passInterval
            for (socket, awaited) in watched {
                curl_multi_socket_action(multi, socket, awaited, &running)
            }
        }
        for event in events.prefix(eventCount) {
            if event.data.fd == bell.rawValue {
                silence()
                continue
            }
            // libcurl ignores a socket that it has closed since.
            curl_multi_socket_action(multi, event.data.fd, Self.mask(event.events), &running)
        }
        eventCount = 0
        guard let due, due <= .now else { return }
        self.due = nil
        curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running)
    }

    private func silence() {
        var count: UInt64 = 0
        _ = read(bell.rawValue, &count, MemoryLayout.size(ofValue: count))
    }

    private static func mask(_ events: UInt32) -> Int32 {
        var mask: Int32 = 0
        if events & EPOLLIN.rawValue != 0 { mask |= CURL_CSELECT_IN }
        if events & EPOLLOUT.rawValue != 0 { mask |= CURL_CSELECT_OUT }
        if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { mask |= CURL_CSELECT_ERR }
        return mask
    }
}

/// libcurl's socket callback.
private func socketChanged(
    _ easy: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ what: Int32,
    _ context: UnsafeMutableRawPointer?, _ socketContext: UnsafeMutableRawPointer?
) -> Int32 {
    events(context)?.watch(socket, for: what)
    return 0
}

/// libcurl's timer callback; -1 ends the timer.
private func timerChanged(
    _ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    events(context)?.setTimer(after: milliseconds)
    return 0
}

private func events(_ context: UnsafeMutableRawPointer?) -> SocketEvents? {
    context.map { Unmanaged<SocketEvents>.fromOpaque($0).takeUnretainedValue() }
}
