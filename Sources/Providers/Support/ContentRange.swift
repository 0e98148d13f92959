/// `bytes 0-99/1234`, RFC 9110, 14.4.
package struct ContentRange: Hashable {
    package let range: Range<UInt64>
    /// nil if the server does not tell.
    package let total: UInt64?

    package init?(_ text: String) {
        let parts = text.split(separator: " ")
        guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
        let numbers = parts[1].split(separator: "/")
        guard numbers.count == 2 else { return nil }
        let bounds = numbers[0].split(separator: "-", omittingEmptySubsequences: false)
            .map { UInt64($0) }
        guard bounds.count == 2, let first = bounds[0], let last = bounds[1], first <= last,
            last < .max
        else { return nil }
        range = first..<(last + 1)
        total = UInt64(numbers[1])
        if total == nil, numbers[1] != "*" { return nil }
        if let total, total <= last { return nil }
    }
}
