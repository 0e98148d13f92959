package import Engine
import Glibc
import Synchronization

/// A file of the state directory that holds blocks for the database, and no bytes that matter.
///
/// It is given up from its end, a piece at a time: should somebody else take a piece before the
/// database does, there is another one.
package final class PosixBallast: Ballast {
    package static let name = "ballast"
    /// How much it holds on a disk that is not small, in bytes: a write-ahead log comes to a quarter.
    private static let bytesMax: UInt64 = 16 << 20
    private static let pieceBytes: UInt64 = 1 << 20

    private let file: Descriptor
    /// 16 MiB, of a small disk a sixteenth.
    private let bytes: UInt64
    private let state: Mutex<State>

    private struct State {
        /// How many bytes are held.
        var held: UInt64
        /// Whether the file system can hold blocks for a file at all.
        var isPossible = true
    }

    /// Takes up what an earlier mount held, and takes the rest where there is room for it. On a disk
    /// that is full a piece goes at once, as a database takes some room to be opened.
    ///
    /// - Parameter path: The state directory, held by a ``StateDirectory``.
    package init(directory path: String) throws(DiskError) {
        do throws(SystemError) {
            let directory = try Descriptor(directory: path)
            file = try Descriptor(
                opening: Self.name, in: directory, flags: O_RDWR | O_CREAT, mode: 0o600)
            let status = try file.status()
            let size = UInt64(max(0, status.st_size))
            // POSIX: st_blocks counts 512 bytes each. One with holes holds nothing to rely on.
            let isAllocated = UInt64(max(0, status.st_blocks)) * 512 >= size
            bytes = min(Self.bytesMax, try file.space().totalBytes / 16)
            state = Mutex(State(held: isAllocated ? min(size, bytes) : 0))
            // Whole or not: what could not be opened could not make room either.
            _ = restore()
            if isDiskFull() { _ = giveUp() }
        } catch {
            throw DiskError(error, attempt: "hold room for the database in \"\(path)\"")
        }
    }

    /// Whether it holds enough to mount with on a disk that is full: half.
    package var isSufficient: Bool { heldBytes >= bytes / 2 }

    /// How many bytes it holds now.
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
            // A disk that is filled for this is full again at once.
            guard let space = try? file.space(),
                space.availableBytes > missing + Self.pieceBytes
            else { return false }
            // A quota shows only in what is refused.
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
