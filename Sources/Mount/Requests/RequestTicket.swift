/// Identifies a request that continues as a task; positive, never reused within a session.
struct RequestTicket: Hashable, Sendable {
    let rawValue: UInt
}

extension RequestTicket {
    /// - Parameter data: A ticket as libfuse carries it, see ``pointer``.
    init?(_ data: UnsafeMutableRawPointer?) {
        guard let data else { return nil }
        rawValue = UInt(bitPattern: data)
    }

    /// The number in the form in which libfuse carries user data; points at nothing.
    var pointer: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: rawValue) }
}
