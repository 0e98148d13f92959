import CFuse
import Engine
import Glibc

/// Packs directory entries in the kernel's format until the buffer is full.
struct DirectoryBuffer: ~Copyable {
    enum Format: Sendable {
        case names
        /// READDIRPLUS: each name comes with the answer to its lookup.
        case attributes

        /// An estimate of how many entries fit, so that few are fetched in vain.
        func entriesMax(in room: Int) -> Int {
            // The size of the kernel's record with a name of a dozen bytes.
            max(1, room / (self == .names ? 40 : 168))
        }
    }

    private let format: Format
    private let form: AttributeForm
    private let memory: UnsafeMutableBufferPointer<CChar>
    private(set) var count = 0

    init(_ format: Format, bytesMax: Int, _ form: AttributeForm) {
        self.format = format
        self.form = form
        memory = .allocate(capacity: bytesMax)
    }

    deinit {
        memory.deallocate()
    }

    borrowing func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
        body(bytes)
    }

    borrowing func answer(_ reply: consuming Reply) {
        reply.bytes(bytes)
    }

    /// Valid as long as this buffer.
    private var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count])
    }

    /// Adds `.` or `..` without attributes, as the kernel looks up neither.
    ///
    /// - Parameter next: The offset at which to continue after this entry.
    /// - Returns: Whether it fits.
    mutating func append(_ name: StaticString, _ inode: InodeNumber, next: Int64) -> Bool {
        var entry = fuse_entry_param()
        entry.attr.st_ino = ino_t(inode.rawValue)
        entry.attr.st_mode = S_IFDIR
        let name = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
        return append(name, entry, next: next)
    }

    mutating func append(_ entry: DirectoryEntry, next: Int64) -> Bool {
        var parameters = entry.attributes.entry(form)
        // Inode 0 means that no attributes follow: the kernel looks the name up before it is used.
        if entry.attributes.isKindProvisional { parameters.ino = 0 }
        let name = entry.name.bytes
        return withUnsafeTemporaryAllocation(
            of: CChar.self, capacity: FileName.bytesMax + 1
        ) { text in
            for (index, byte) in name.enumerated() { text[index] = CChar(bitPattern: byte) }
            text[name.count] = 0
            guard let text = text.baseAddress else { return false }
            return append(text, parameters, next: next)
        }
    }

    private mutating func append(
        _ name: UnsafePointer<CChar>, _ entry: fuse_entry_param, next: Int64
    ) -> Bool {
        let room = memory.count - count
        let place = memory.baseAddress.map { $0 + count }
        var entry = entry
        // libfuse ignores the request argument, and writes nothing if the entry does not fit.
        let needed =
            switch format {
            case .names: fuse_add_direntry(nil, place, room, name, &entry.attr, off_t(next))
            case .attributes: fuse_add_direntry_plus(nil, place, room, name, &entry, off_t(next))
            }
        guard needed <= room else { return false }
        count += needed
        return true
    }
}
