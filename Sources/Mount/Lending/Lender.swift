import CFuse
import Engine
import Glibc
import Logging
import Synchronization

/// Lets the kernel read whole local files by itself, in a mount that programs cannot write to.
final class Lender: Sendable {
    /// The smallest lent file. For a smaller one the calls that lend it and take it back cost more than
    /// the request that they save.
    private static let bytesMin: UInt64 = 128 << 10

    private struct State {
        var lending: Lending
        var session: SessionHandle?
        /// Whether the disk is known to tell which files programs still have mapped.
        var hasLeases = false
    }

    /// Whether the session asks the kernel for passthrough.
    let isWanted: Bool
    private let logger: Logger
    private let state: Mutex<State>
    private let modes = Mutex(OpenModes())

    /// - Parameter isReadOnly: Whether the mount is.
    init(isReadOnly: Bool, logger: Logger) {
        self.logger = logger
        let obstacle: Lending.Obstacle? = isReadOnly ? .ofMachine : .writable
        isWanted = obstacle == nil
        state = Mutex(State(lending: obstacle.map { .unused($0) } ?? .used))
    }

    var lending: Lending { state.withLock(\.lending) }

    /// Begins with a mounted session.
    ///
    /// - Parameter isNegotiated: Whether it can ask the kernel for passthrough.
    func attach(_ session: SessionHandle, isNegotiated: Bool) {
        state.withLock { $0.session = session }
        if isWanted, !isNegotiated { stop(.library) }
    }

    /// Adds a handle of an open file.
    ///
    /// - Parameter isDirect: Whether it is opened with `O_DIRECT`, for which the disk would set conditions
    ///   that the mount does not have.
    /// - Returns: The number by which the kernel knows the file; nil if it is to send requests.
    func open(_ inode: InodeNumber, of engine: Engine, isDirect: Bool) -> CInt? {
        guard isWanted else { return nil }
        let isFirst = modes.withLock { !$0.isDecided(inode) }
        let offer = isFirst && !isDirect ? offer(inode, of: engine) : nil
        let loan = modes.withLock { $0.open(inode, offering: offer) }
        if let offer, offer.identifier != loan?.identifier { end(offer) }
        return loan?.identifier
    }

    /// Removes a handle.
    func close(_ inode: InodeNumber) {
        guard isWanted, let loan = modes.withLock({ $0.close(inode) }) else { return }
        end(loan)
    }

    private func offer(_ inode: InodeNumber, of engine: Engine) -> OpenModes.Loan? {
        guard let session = state.withLock({ $0.lending == .used ? $0.session : nil }),
            let content = engine.lend(inode, bytesMin: Self.bytesMin),
            let descriptor = try? content.file.openDescriptor(), hasLeases(content)
        else { return nil }
        let identifier = apus_backing_open(session.session, descriptor.rawValue)
        withExtendedLifetime(descriptor) {}
        guard identifier <= 0 else {
            return OpenModes.Loan(identifier: identifier, content: content)
        }
        if let obstacle = Lending.Obstacle(refusal: -identifier) { stop(obstacle) }
        return nil
    }

    /// Whether the engine can find out that a program has a file mapped after it was closed. Asked once,
    /// before the first file is lent, as an open of the same file would have to wait for it.
    private func hasLeases(_ content: ReadableRange) -> Bool {
        let hasLeases = state.withLock { state in
            state.hasLeases = state.hasLeases || content.file.isOpenElsewhere() != nil
            return state.hasLeases
        }
        if !hasLeases { stop(.fileSystem) }
        return hasLeases
    }

    private func end(_ loan: OpenModes.Loan) {
        guard let session = state.withLock(\.session) else { return }
        apus_backing_close(session.session, loan.identifier)
        withExtendedLifetime(loan.content) {}
    }

    /// Lends no further files.
    private func stop(_ obstacle: Lending.Obstacle) {
        state.withLock { $0.lending = .unused(obstacle) }
        logger.info("local files are read by requests", metadata: ["obstacle": "\(obstacle)"])
    }
}
