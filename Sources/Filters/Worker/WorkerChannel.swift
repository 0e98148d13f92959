import FoundationEssentials
import Glibc
import SystemCalls

/// One end of the socket between a batch and a worker: messages of JSON, each after its length in four
/// bytes, and the contents of files.
package struct WorkerChannel {
    package enum Failure: Error, Hashable {
        /// The other end is closed.
        case closed
        case deadlinePassed
        /// The other end does not keep to the protocol.
        case malformed
    }

    let descriptor: Int32

    package init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    private static let messageBytesMax = 1 << 16

    package func send(
        _ message: some Encodable, until deadline: ContinuousClock.Instant? = nil
    ) throws(Failure) {
        guard let json = try? JSONEncoder().encode(message) else { throw .malformed }
        var bytes: [UInt8] = []
        bytes.append(integer: json.count, size: 4)
        try send(bytes + json, until: deadline)
    }

    package func send(
        _ bytes: [UInt8], until deadline: ContinuousClock.Instant? = nil
    ) throws(Failure) {
        var done = 0
        while done < bytes.count {
            guard PosixIO.poll(descriptor, for: Int32(POLLOUT), until: deadline) else {
                throw .deadlinePassed
            }
            let sent = bytes.withUnsafeBytes { bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
                return Glibc.send(
                    descriptor, rest.baseAddress, rest.count,
                    Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if sent < 0, errno != EAGAIN, errno != EINTR { throw .closed }
            done += max(sent, 0)
        }
    }

    package func receive<Message: Decodable>(
        _ type: Message.Type, until deadline: ContinuousClock.Instant? = nil
    ) throws(Failure) -> Message {
        let prefix = try receive(count: 4, until: deadline)
        let count = prefix.withUnsafeBytes { ByteReader(bytes: $0).integer(0, size: 4) } ?? 0
        guard (1...Self.messageBytesMax).contains(count) else { throw .malformed }
        let json = try receive(count: count, until: deadline)
        guard let message = try? JSONDecoder().decode(type, from: Data(json)) else {
            throw .malformed
        }
        return message
    }

    package func receive(
        count: Int, until deadline: ContinuousClock.Instant? = nil
    ) throws(Failure) -> [UInt8] {
        var failure: Failure?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            do throws(Failure) {
                try receive(into: UnsafeMutableRawBufferPointer(buffer), until: deadline)
                filled = count
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Fills the buffer.
    package func receive(
        into buffer: UnsafeMutableRawBufferPointer, until deadline: ContinuousClock.Instant? = nil
    ) throws(Failure) {
        var done = 0
        while done < buffer.count {
            guard PosixIO.poll(descriptor, for: Int32(POLLIN), until: deadline) else {
                throw .deadlinePassed
            }
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = try? retryingInterrupts {
                recv(descriptor, rest.baseAddress, rest.count, 0)
            }
            guard let count, count > 0 else { throw .closed }
            done += count
        }
    }
}
