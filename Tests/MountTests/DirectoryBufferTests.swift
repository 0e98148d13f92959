import Testing

@testable import Engine
@testable import Mount

/// The records are those of `struct fuse_dirent` and `struct fuse_direntplus` in linux/fuse.h.
struct DirectoryBufferTests {
    private static let entries = ["a", "name of 15 char", "größer"].enumerated().map {
        index, name in
        DirectoryEntry(
            name: FileName(name)!, attributes: attributes(.file, inode: Int64(index) + 10),
            cookie: Int64(index) + 1)
    }

    @Test
    func `names come with inode, kind and the offset at which to continue`() {
        var buffer = DirectoryBuffer(.names, bytesMax: 4096, AttributeForm())
        Listing(dots: [(".", .root, 1), ("..", .root, 2)], entries: Self.entries)
            .append(to: &buffer)
        buffer.withBytes { bytes in
            let records = Record.parse(bytes, headerBytes: 0)
            #expect(records.map(\.name) == [".", "..", "a", "name of 15 char", "größer"])
            #expect(records.map(\.inode) == [1, 1, 10, 11, 12])
            #expect(records.map(\.offset) == [1, 2, 3, 4, 5])
            // POSIX: DT_DIR and DT_REG.
            #expect(records.map(\.type) == [4, 4, 8, 8, 8])
        }
    }

    @Test
    func `attributes come in front of each name, except those of the dots`() {
        var buffer = DirectoryBuffer(.attributes, bytesMax: 4096, AttributeForm())
        Listing(dots: [(".", .root, 1)], entries: Self.entries).append(to: &buffer)
        buffer.withBytes { bytes in
            let records = Record.parse(bytes, headerBytes: 128)
            #expect(records.map(\.name) == [".", "a", "name of 15 char", "größer"])
            // The node ID of the entry; 0 means that no attributes follow.
            #expect(records.map(\.nodeID) == [0, 10, 11, 12])
        }
    }

    /// Otherwise the kernel would cache the inode under that name, and follow it where a link is.
    @Test
    func `a name that may be a link comes with its number and type only`() {
        var entry = Self.entries[0]
        entry.attributes.isKindProvisional = true
        var buffer = DirectoryBuffer(.attributes, bytesMax: 4096, AttributeForm())
        Listing(dots: [], entries: [entry, Self.entries[1]]).append(to: &buffer)
        buffer.withBytes { bytes in
            let records = Record.parse(bytes, headerBytes: 128)
            #expect(records.map(\.nodeID) == [0, 11])
            #expect(records.map(\.inode) == [10, 11])
            #expect(records.map(\.type) == [8, 8])
        }
    }

    @Test(arguments: 0..<200)
    func `entries that do not fit completely are left out`(room: Int) {
        var buffer = DirectoryBuffer(.names, bytesMax: room, AttributeForm())
        Listing(dots: [], entries: Self.entries).append(to: &buffer)
        buffer.withBytes { bytes in
            #expect(bytes.count <= room)
            let names = Record.parse(bytes, headerBytes: 0).map(\.name)
            #expect(names == Array(["a", "name of 15 char", "größer"].prefix(names.count)))
        }
    }

    @Test
    func `a name of the maximum length fits`() {
        let name = FileName([UInt8](repeating: 0x78, count: FileName.bytesMax))!
        var buffer = DirectoryBuffer(.attributes, bytesMax: 4096, AttributeForm())
        let entry = DirectoryEntry(name: name, attributes: attributes(.directory), cookie: 1)
        let isIn = buffer.append(entry, next: 3)
        #expect(isIn)
        buffer.withBytes { bytes in
            #expect(Record.parse(bytes, headerBytes: 128).map(\.name) == [name.description])
        }
    }
}

private struct Record {
    var nodeID: UInt64
    var inode: UInt64
    var offset: UInt64
    var type: UInt32
    var name: String

    static func parse(_ bytes: UnsafeRawBufferPointer, headerBytes: Int) -> [Record] {
        var records: [Record] = []
        var start = 0
        while start < bytes.count {
            let dirent = start + headerBytes
            let length = Int(bytes.loadUnaligned(fromByteOffset: dirent + 16, as: UInt32.self))
            let name = bytes[(dirent + 24)..<(dirent + 24 + length)]
            records.append(
                Record(
                    nodeID: bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self),
                    inode: bytes.loadUnaligned(fromByteOffset: dirent, as: UInt64.self),
                    offset: bytes.loadUnaligned(fromByteOffset: dirent + 8, as: UInt64.self),
                    type: bytes.loadUnaligned(fromByteOffset: dirent + 20, as: UInt32.self),
                    name: String(decoding: name, as: UTF8.self)))
            start = dirent + (24 + length + 7) / 8 * 8
        }
        return records
    }
}
