/// Counts the bytes that pass to another sink.
struct CountingSink: ByteSink {
    let sink: any ByteSink
    /// Receives the number of bytes of each write.
    let received: @Sendable (UInt64) -> Void
    /// Those of this one.
    private let passed = Locked<UInt64>(0)

    init(sink: any ByteSink, received: @escaping @Sendable (UInt64) -> Void) {
        (self.sink, self.received) = (sink, received)
    }

    var bytes: UInt64 { passed.withLock { $0 } }

    func confirm(_ range: Range<UInt64>) { sink.confirm(range) }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws {
        try sink.write(bytes, at: offset)
        received(UInt64(bytes.count))
        passed.withLock { $0 += UInt64(bytes.count) }
    }
}
