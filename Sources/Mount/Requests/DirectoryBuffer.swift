import CFuse
import Engine
import Glibc

/// Packs directory entries as the kernel reads them, until the room is used up.
struct DirectoryBuffer: ~Copyable {
    enum Format: Sendable {
        case names
        /// READDIRPLUS: with what a lookup of each name would say.
        case attributes

        /// About how many entries fit, so that few are fetched in vain.
        func entriesMax(in room: Int) -> Int {
            // The kernel's records with a name of a dozen bytes.
            max(1, room / (self == .names ? 40 : 168))
        }
    }

    private let format: Format
    private let timeouts: CacheTimeouts
    private let memory: UnsafeMutableBufferPointer<CChar>
    private(set) var count = 0

    init(_ format: Format, bytesMax: Int, timeouts: CacheTimeouts) {
        self.format = format
        self.timeouts = timeouts
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

    /// Lives as long as this buffer.
    private var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count])
    }

    /// Adds `.` or `..`: only their inode, as the kernel looks up neither.
    ///
    /// - Parameter next: The offset that goes on after this entry.
    /// - Returns: Whether it fitted.
    mutating func append(_ name: StaticString, _ inode: InodeNumber, next: Int64) -> Bool {
        var entry = fuse_entry_param()
        entry.attr.st_ino = ino_t(inode.rawValue)
        entry.attr.st_mode = S_IFDIR
        let name = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
        return append(name, entry, next: next)
    }

    mutating func append(_ entry: DirectoryEntry, next: Int64) -> Bool {
        var parameters = entry.attributes.entry(timeouts)
        // Names and types only: the kernel takes no inode for 0, and looks the name up when somebody
        // wants to know more.
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
        // libfuse takes the request for nothing, and writes nothing where there is no room.
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
