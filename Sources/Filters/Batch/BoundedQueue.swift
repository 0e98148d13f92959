import SystemCalls

/// A bounded first-in, first-out queue between two stages of a run.
///
/// Space is reserved before an element is created, so that files being read count as well as files
/// already read. If the queue is full, ``reserve(bytes:)`` waits.
final class BoundedQueue<Element: Sendable>: Sendable {
    private struct State {
        var admission: Admission
        var elements: [(element: Element, bytes: Int)] = []
        /// Index of the first element not yet taken; those before it are removed in batches.
        var first = 0
        var isFinished = false
        var isCancelled = false
    }

    private let state: Monitor<State>

    init(countMax: Int, bytesMax: Int = .max) {
        state = Monitor(State(admission: Admission(countMax: countMax, bytesMax: bytesMax)))
    }

    /// Waits for space.
    ///
    /// - Returns: false if the queue was cancelled; nothing is then reserved.
    func reserve(bytes: Int) -> Bool {
        state.wait { state -> Bool? in
            if state.isCancelled { return false }
            guard state.admission.admits(bytes: bytes) else { return nil }
            state.admission.admit(bytes: bytes)
            return true
        }
    }

    /// Appends an element to reserved space.
    func put(_ element: Element, reserved bytes: Int) {
        state.update { $0.elements.append((element, bytes)) }
    }

    /// Releases reserved space.
    func giveBack(bytes: Int) {
        state.update { $0.admission.release(bytes: bytes) }
    }

    /// Waits for the next element, removes it and releases its space.
    ///
    /// - Returns: nil if the queue was cancelled, or is finished and empty.
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

    /// Marks the end: no element follows.
    func finish() {
        state.update { $0.isFinished = true }
    }

    /// Discards all elements and ends all waits.
    func cancel() {
        state.update {
            $0.isCancelled = true
            $0.elements = []
            $0.first = 0
        }
    }

    /// The space in use, reserved space included.
    var held: (count: Int, bytes: Int) {
        state.update { ($0.admission.count, $0.admission.bytes) }
    }
}
