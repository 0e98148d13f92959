extension StatusReport {
    /// The extent of ``StatusReport/text(now:extent:)``.
    package enum Extent: Hashable, Sendable {
        /// All listed items, with whole paths.
        case all
        /// At most 20 rows, those that need attention first, then those under way, in lines of at
        /// most this width; if it is nil, only paths are shortened. Items with the same reason share one.
        case summary(columns: Int?)

        static let rowsMax = 20

        var columns: Int? {
            if case .summary(let columns) = self { columns } else { nil }
        }
    }
}
