/// Hands things from one stage of a run to the next, in order, and holds back who is too fast.
///
/// Room is reserved before a thing is made, so that what is being read counts as much as what has
/// been read. When it is full, ``reserve(bytes:)`` waits.
final class BoundedQueue<Element: Sendable>: Sendable {
    private struct State {
        var admission: Admission
        var elements: [(element: Element, bytes: Int)] = []
        /// Elements before this one were taken; they are cut off from time to time.
        var first = 0
        var isFinished = false
        var isCancelled = false
    }

    private let state: Monitor<State>

    init(countMax: Int, bytesMax: Int = .max) {
        state = Monitor(State(admission: Admission(countMax: countMax, bytesMax: bytesMax)))
    }

    /// Waits for room.
    ///
    /// - Returns: false once the queue is cancelled; there is then nothing to put or give back.
    func reserve(bytes: Int) -> Bool {
        state.wait { state -> Bool? in
            if state.isCancelled { return false }
            guard state.admission.admits(bytes: bytes) else { return nil }
            state.admission.admit(bytes: bytes)
            return true
        }
    }

    /// Fills room that was reserved for as many bytes.
    func put(_ element: Element, reserved bytes: Int) {
        state.update { $0.elements.append((element, bytes)) }
    }

    /// Gives up room that was reserved.
    func giveBack(bytes: Int) {
        state.update { $0.admission.release(bytes: bytes) }
    }

    /// Waits for the next element, and takes it out with its room.
    ///
    /// - Returns: nil once the queue is cancelled, or finished and empty.
    func take() -> Element? {
        state.wait { state -> Element?? in
            if state.isCancelled { return .some(nil) }
            guard state.first < state.elements.count else {
                return state.isFinished ? .some(nil) : nil
            }
            let (element, bytes) = state.elements[state.first]
            state.first += 1
            if state.first * 2 >= state.elements.count {
                state.elements.removeFirst(state.first)
                state.first = 0
            }
            state.admission.release(bytes: bytes)
            return .some(element)
        }
    }

    /// Nothing more will be put.
    func finish() {
        state.update { $0.isFinished = true }
    }

    /// Drops what is in it, and ends all waiting.
    func cancel() {
        state.update {
            $0.isCancelled = true
            $0.elements = []
            $0.first = 0
        }
    }

    /// What is held or reserved now.
    var held: (count: Int, bytes: Int) {
        state.update { ($0.admission.count, $0.admission.bytes) }
    }
}
