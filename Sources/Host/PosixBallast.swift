package import Engine
import Glibc
import Synchronization

/// A file in the state directory that reserves disk blocks for the database. Its bytes have no
/// meaning.
///
/// It is shortened piece by piece: if another program uses a freed piece before the database does,
/// there are more.
package final class PosixBallast: Ballast {
    package static let name = "ballast"
    /// The size on a disk that is not small, in bytes: four times that of a write-ahead log.
    private static let bytesMax: UInt64 = 16 << 20
    private static let pieceBytes: UInt64 = 1 << 20

    private let file: Descriptor
    /// The full size: 16 MiB, or a sixteenth of a small disk.
    private let bytes: UInt64
    private let state: Mutex<State>

    private struct State {
        /// The number of bytes reserved.
        var held: UInt64
        /// Whether the file system can reserve blocks for a file.
        var isPossible = true
    }

    /// Adopts the file of an earlier mount, and extends it to its full size if there is room. On a
    /// full disk it frees a piece at once, as opening a database takes some room.
    ///
    /// - Parameter path: The state directory, locked by a ``StateDirectory``.
    package init(directory path: String) throws(DiskError) {
        do throws(SystemError) {
            let directory = try Descriptor(directory: path)
            file = try Descriptor(
                opening: Self.name, in: directory, flags: O_RDWR | O_CREAT, mode: 0o600)
            let status = try file.status()
            let size = UInt64(max(0, status.st_size))
            // POSIX: st_blocks counts units of 512 bytes. A file with holes reserves too little.
            let isAllocated = UInt64(max(0, status.st_blocks)) * 512 >= size
            bytes = min(Self.bytesMax, try file.space().totalBytes / 16)
            state = Mutex(State(held: isAllocated ? min(size, bytes) : 0))
            // May fail: a mount that does not open could not free any room either.
            _ = restore()
            if isDiskFull() { _ = giveUp() }
        } catch {
            throw DiskError(error, attempt: "hold room for the database in \"\(path)\"")
        }
    }

    /// Whether the reserve suffices for a mount on a full disk: half of the full size.
    package var isSufficient: Bool { heldBytes >= bytes / 2 }

    /// The number of bytes reserved now.
    var heldBytes: UInt64 { state.withLock(\.held) }

    package var isWhole: Bool { state.withLock { $0.held >= bytes || !$0.isPossible } }

    package func isDiskFull() -> Bool {
        state.withLock { state in
            guard state.isPossible else { return false }
            let code = allocate(Self.pieceBytes / 2, after: state.held)
            ftruncate(file.rawValue, off_t(state.held))
            return code == ENOSPC || code == EDQUOT
        }
    }

    /// - Returns: An `errno`, or 0.
    private func allocate(_ bytes: UInt64, after held: UInt64) -> Int32 {
        posix_fallocate(file.rawValue, off_t(held), off_t(bytes))
    }

    package func giveUp() -> Bool {
        state.withLock { state in
            guard state.held > 0 else { return false }
            let left = state.held - min(state.held, Self.pieceBytes)
            guard ftruncate(file.rawValue, off_t(left)) == 0 else { return false }
            state.held = left
            return true
        }
    }

    package func restore() -> Bool {
        state.withLock { state in
            guard state.held < bytes, state.isPossible else { return true }
            let missing = bytes - state.held
            // The reserve itself must not fill the disk.
            guard let space = try? file.space(),
                space.availableBytes > missing + Self.pieceBytes
            else { return false }
            // A quota shows only as a refusal.
            switch allocate(missing + Self.pieceBytes, after: state.held) {
            case 0:
                ftruncate(file.rawValue, off_t(bytes))
                state.held = bytes
                return true
            case EOPNOTSUPP, EINVAL:
                state.isPossible = false
                return true
            default:
                ftruncate(file.rawValue, off_t(state.held))
                return false
            }
        }
    }
}
