/// Bounds the elements held in memory, by count and by bytes.
struct Admission: Equatable {
    let countMax: Int
    let bytesMax: Int
    private(set) var count = 0
    private(set) var bytes = 0

    /// An element larger than the bound is admitted if nothing else is held; otherwise it would
    /// wait forever.
    func admits(bytes more: Int) -> Bool {
        count == 0 || (count < countMax && more <= bytesMax - bytes)
    }

    mutating func admit(bytes more: Int) {
        count += 1
        bytes += more
    }

    mutating func release(bytes less: Int) {
        count -= 1
        bytes -= less
    }
}
