/// Counts the bytes that pass to another sink.
struct CountingSink: ByteSink {
    let sink: any ByteSink
    /// Those of all sinks together.
    let received: Locked<UInt64>
    /// Those of this one.
    private let passed = Locked<UInt64>(0)

    init(sink: any ByteSink, received: Locked<UInt64>) {
        (self.sink, self.received) = (sink, received)
    }

    var bytes: UInt64 { passed.withLock { $0 } }

    func confirm(_ range: Range<UInt64>) { sink.confirm(range) }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws {
        try sink.write(bytes, at: offset)
        received.withLock { $0 += UInt64(bytes.count) }
        passed.withLock { $0 += UInt64(bytes.count) }
    }
}
