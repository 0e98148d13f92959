/// A bar of blocks: `████░░░░`.
struct ProgressBar {
    let columns: Int
    /// Whether the terminal shows characters beyond ASCII.
    let isUnicode: Bool

    /// - Parameter fraction: Cut to 0 to 1. The bar is full only at 1.
    func text(_ fraction: Double) -> String {
        let bounded = min(max(fraction, 0), 1)
        let full = min(Int(bounded * Double(columns)), bounded < 1 ? columns - 1 : columns)
        let (done, left) = isUnicode ? ("█", "░") : ("#", "-")
        return String(repeating: done, count: full)
            + String(repeating: left, count: columns - full)
    }
}
