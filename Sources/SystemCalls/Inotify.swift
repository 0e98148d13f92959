import CLinux
import Glibc

/// Watches directories for changes, inotify(7). All calls may come from any thread.
package final class Inotify: Sendable {
    package struct Event: Sendable {
        /// The result of ``watch(_:for:)``; -1 if events were lost.
        package let watch: Int32
        /// The flags `IN_…`.
        package let flags: UInt32
        /// The name in the directory; empty for the directory itself.
        package let name: [UInt8]

        package init(watch: Int32, flags: UInt32, name: [UInt8]) {
            self.watch = watch
            self.flags = flags
            self.name = name
        }
    }

    private let descriptor: Descriptor
    /// Readable once ``close()`` was called.
    private let bell: Descriptor

    /// The most bytes of events that are read at a time.
    private static let bytesMax = 1 << 16

    /// - Throws: If the system refuses one, as with `EMFILE` above `max_user_instances`.
    package init() throws(SystemError) {
        descriptor = Descriptor(
            adopting: try retryingInterrupts {
                inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
            })
        bell = Descriptor(
            adopting: try retryingInterrupts { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) })
    }

    /// Watches a directory, or changes the events that are reported of it.
    ///
    /// - Parameter directory: Need not be open for reading; its permissions must allow it.
    /// - Returns: The number of the watch, the same for the same directory, and never used again.
    /// - Throws: `ENOSPC` above `max_user_watches`, `EACCES`, …
    package func watch(_ directory: Int32, for flags: UInt32) throws(SystemError) -> Int32 {
        try retryingInterrupts {
            inotify_add_watch(
                descriptor.rawValue, "/proc/self/fd/\(directory)", flags | UInt32(IN_ONLYDIR))
        }
    }

    /// Ends a watch. One that has ended by itself is no error.
    package func unwatch(_ watch: Int32) {
        inotify_rm_watch(descriptor.rawValue, watch)
    }

    /// Ends all waits for events.
    package func close() {
        eventfd_write(bell.rawValue, 1)
    }

    /// Waits for events.
    ///
    /// - Returns: false once it is closed.
    package func awaitEvents() -> Bool {
        var entries = [descriptor, bell].map {
            pollfd(fd: $0.rawValue, events: Int16(POLLIN), revents: 0)
        }
        _ = try? retryingInterrupts { poll(&entries, nfds_t(entries.count), -1) }
        return entries[1].revents == 0
    }

    /// Waits until it is closed.
    ///
    /// - Returns: false if that was not so until the deadline.
    package func awaitClose(until deadline: ContinuousClock.Instant) -> Bool {
        PosixIO.poll(bell.rawValue, for: POLLIN, until: deadline)
    }

    /// Returns events that have happened, at least one if there are any.
    package func takeEvents() throws(SystemError) -> [Event] {
        do throws(SystemError) {
            return Self.events(
                in: try PosixIO.readSome(descriptor.rawValue, countMax: Self.bytesMax))
        } catch {
            if error.code == EAGAIN { return [] }
            throw error
        }
    }

    /// Decodes whole events, as the kernel returns them.
    static func events(in bytes: [UInt8]) -> [Event] {
        var events: [Event] = []
        let headerBytes = MemoryLayout<inotify_event>.size
        bytes.withUnsafeBytes { bytes in
            var offset = 0
            while offset + headerBytes <= bytes.count {
                let header = bytes.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                let name = bytes[(offset + headerBytes)...].prefix(Int(header.len))
                events.append(
                    Event(
                        watch: header.wd, flags: header.mask, name: Array(name.prefix { $0 != 0 })))
                offset += headerBytes + Int(header.len)
            }
        }
        return events
    }
}
