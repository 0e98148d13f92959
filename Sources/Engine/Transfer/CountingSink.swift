/// Counts the bytes that pass to another sink.
struct CountingSink: ByteSink {
    let sink: any ByteSink
    let received: Locked<UInt64>

    func confirm(_ range: Range<UInt64>) { sink.confirm(range) }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws {
        try sink.write(bytes, at: offset)
        received.withLock { $0 += UInt64(bytes.count) }
    }
}
