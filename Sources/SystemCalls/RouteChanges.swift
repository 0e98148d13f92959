import CLinux
import Glibc

/// Reports changes of this machine's network: its links and routes, rtnetlink(7). All calls may come from any
/// thread.
package final class RouteChanges: Sendable {
    private let descriptor: Descriptor
    /// Readable once ``close()`` was called.
    private let bell: Descriptor

    /// More than any message; what is in it does not matter.
    private static let bytesMax = 1 << 16

    package init() throws(SystemError) {
        descriptor = Descriptor(adopting: try retryingInterrupts { apus_open_route_changes() })
        bell = Descriptor(
            adopting: try retryingInterrupts { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) })
    }

    /// Ends all waits.
    package func close() {
        eventfd_write(bell.rawValue, 1)
    }

    /// Waits for a change. Several at a time count as one.
    ///
    /// - Returns: false once it is closed.
    package func awaitChange() -> Bool {
        var entries = [descriptor, bell].map {
            pollfd(fd: $0.rawValue, events: Int16(POLLIN), revents: 0)
        }
        _ = try? retryingInterrupts { poll(&entries, nfds_t(entries.count), -1) }
        guard entries[1].revents == 0 else { return false }
        do throws(SystemError) {
            while true { _ = try PosixIO.readSome(descriptor.rawValue, countMax: Self.bytesMax) }
        } catch {
            // Nothing more is there; or so much was that the kernel has dropped some (ENOBUFS).
            return true
        }
    }
}
