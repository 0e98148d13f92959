/// A queue whose operations take constant time on average.
struct Fifo<Element> {
    private var arrivals: [Element] = []
    /// The first ones, in reverse order.
    private var departures: [Element] = []

    var count: Int { arrivals.count + departures.count }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ element: Element) {
        arrivals.append(element)
    }

    mutating func popFirst() -> Element? {
        if departures.isEmpty {
            departures = arrivals.reversed()
            arrivals = []
        }
        return departures.popLast()
    }
}
