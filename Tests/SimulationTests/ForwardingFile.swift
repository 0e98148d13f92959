@testable import Engine

/// A file that does what another one does, except for the functions of its own.
protocol ForwardingFile: DiskFile {
    var file: any DiskFile { get }
}

extension ForwardingFile {
    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(DiskError) -> Int {
        try file.read(into: buffer, at: offset)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError) {
        try file.write(bytes, at: offset)
    }

    func truncate(to size: UInt64) throws(DiskError) { try file.truncate(to: size) }
    func punchHole(_ range: Range<UInt64>) throws(DiskError) { try file.punchHole(range) }
    func synchronize() throws(DiskError) { try file.synchronize() }
    func requireStored() throws(DiskError) { try file.requireStored() }
    func status() throws(DiskError) -> DiskFileStatus { try file.status() }
    func setModified(_ time: Timestamp) throws(DiskError) { try file.setModified(time) }
    func setExtendedAttributes(_ attributes: ExtendedAttributes) throws(DiskError) {
        try file.setExtendedAttributes(attributes)
    }
    func openDescriptor() throws(DiskError) -> (any OpenDescriptor)? {
        try file.openDescriptor()
    }
}
