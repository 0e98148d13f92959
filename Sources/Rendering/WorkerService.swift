import CLinux
import Filters
import Glibc
import SystemCalls

/// A worker's side: filters pictures for the batch at the other end of a socket.
package enum WorkerService {
    /// Serves requests until the other end is closed.
    package static func run(socket: Int32) {
        _ = apus_forbid_inspection()
        let channel = WorkerChannel(descriptor: socket)
        do throws(WorkerChannel.Failure) {
            // Starting libvips takes a while; the batch reads the first file in the meantime.
            guard Vips.started else { return }
            try channel.send(WorkerReply.ready(version: Vips.version))
            while true { try serve(channel) }
        } catch {
            // The batch has ended.
        }
    }

    private static func serve(_ channel: WorkerChannel) throws(WorkerChannel.Failure) {
        let request = try channel.receive(WorkerRequest.self)
        let result = try SharedBuffer.with(count: request.byteCount) {
            (buffer) throws(WorkerChannel.Failure) in
            try channel.receive(into: buffer)
            return render(request, UnsafeRawBufferPointer(buffer))
        }
        switch result {
        case .success(let new):
            try channel.send(WorkerReply.rendered(byteCount: new.count))
            try channel.send(new)
        case .failure(let error):
            try channel.send(WorkerReply.failed(error.withMemoryNamed))
        }
    }

    private static func render(
        _ request: WorkerRequest, _ bytes: UnsafeRawBufferPointer
    ) -> Result<[UInt8], ImageError> {
        _ = apus_allow_processor_seconds(UInt64(request.secondsMax))
        let renderer = Renderer(
            filters: request.filters, quality: request.quality, pixelsMax: request.pixelsMax)
        return Result { () throws(ImageError) in
            try renderer.render(bytes, as: request.format)
        }
    }
}

/// Memory for a file, shared, so that it does not count towards the bound of a worker.
private enum SharedBuffer {
    static func with<Value>(
        count: Int,
        _ body: (UnsafeMutableRawBufferPointer) throws(WorkerChannel.Failure) -> Value
    ) throws(WorkerChannel.Failure) -> Value {
        let memory = mmap(
            nil, count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
        guard let memory, memory != MAP_FAILED else { throw .malformed }
        defer { munmap(memory, count) }
        return try body(UnsafeMutableRawBufferPointer(start: memory, count: count))
    }
}
