import CLinux
package import Engine
import Glibc
import Synchronization
import SystemCalls

/// A file of the state directory that reserves blocks for the database; its bytes mean nothing.
///
/// It is given up piece by piece, from its end: if another program takes a piece before the database
/// does, there are more.
package final class PosixBallast: Ballast {
    package static let name = "ballast"
    /// Its size on a disk that is not small, in bytes; a write-ahead log takes about a quarter.
    private static let bytesMax: UInt64 = 16 << 20
    private static let pieceBytes: UInt64 = 1 << 20

    private let file: Descriptor
    /// Its full size: 16 MiB, or a sixteenth of a small disk.
    private let bytes: UInt64
    private let state: Mutex<State>

    private struct State {
        /// The bytes that it has now.
        var held: UInt64
        /// Whether the file system can reserve blocks at all.
        var isPossible = true
    }

    /// Keeps the blocks of an earlier mount, and reserves the rest if there is room. On a full disk it
    /// gives up a piece at once, as opening a database takes some room.
    ///
    /// - Parameter path: The state directory, held by a ``StateDirectory``.
    package init(directory path: String) throws(DiskError) {
        do throws(SystemError) {
            let directory = try Descriptor(directory: path)
            file = try Descriptor(
                opening: Self.name, in: directory, flags: O_RDWR | O_CREAT, mode: 0o600)
            let status = try file.status()
            let size = UInt64(max(0, status.st_size))
            // POSIX: st_blocks counts 512 bytes each. A file with holes reserves nothing.
            let isAllocated = UInt64(max(0, status.st_blocks)) * 512 >= size
            bytes = min(Self.bytesMax, try file.space().totalBytes / 16)
            state = Mutex(State(held: isAllocated ? min(size, bytes) : 0))
            // It may stay incomplete; but a file that is not open could not make room at all.
            _ = restore()
            if isDiskFull() { _ = giveUp() }
        } catch {
            throw DiskError(error, attempt: "hold room for the database in \"\(path)\"")
        }
    }

    /// Whether it is large enough to mount on a full disk: half of its full size.
    package var isSufficient: Bool { heldBytes >= bytes / 2 }

    /// The bytes that it has now.
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
            // Taking the last free bytes would fill the disk again at once.
            guard let space = try? file.space(),
                space.availableBytes > missing + Self.pieceBytes
            else { return false }
            // A quota shows only when it refuses an allocation.
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
