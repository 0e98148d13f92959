/// Names one request that goes on as a task; positive, never used twice in a session.
struct RequestTicket: Hashable, Sendable {
    let rawValue: UInt
}
