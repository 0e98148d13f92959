import Control
import Host

extension KeepFree {
    /// - Parameter text: A size, or a share of the disk: `5GiB`, `10%`.
    init?(_ text: String) {
        if text.hasSuffix("%") {
            guard let share = UInt64(text.dropLast()), share < 100 else { return nil }
            self = .percent(share)
        } else {
            guard let bytes = HumanSize.parse(text) else { return nil }
            self = .bytes(bytes)
        }
    }
}
