/// A conflict or a failed change, which waits for a person.
package struct AttentionItem: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case conflict
        /// A change that is not tried again by itself.
        case failure(reason: String)
    }

    /// Relative to the mount point.
    package var path: String
    package var kind: Kind

    package init(path: String, kind: Kind) {
        (self.path, self.kind) = (path, kind)
    }

    fileprivate var isConflict: Bool { kind == .conflict }

    /// A failure with another reason is no new one.
    fileprivate var identity: Identity { Identity(path: path, isConflict: isConflict) }

    fileprivate struct Identity: Hashable {
        var path: String
        var isConflict: Bool
    }
}

/// The text of a desktop notification. Source: Desktop Notifications Specification.
package struct DesktopNotification: Hashable, Sendable {
    /// One line of plain text.
    package var summary: String
    /// Lines of plain text.
    package var body: String

    private static let shownMax = 3

    /// - Parameter items: Not empty.
    package init(of items: [AttentionItem], in mountPoint: String) {
        let conflicts = items.filter(\.isConflict).map(\.path.singleLine).sorted()
        let failures = items.compactMap { item -> String? in
            guard case .failure(let reason) = item.kind else { return nil }
            return "\(item.path.singleLine): \(reason.singleLine)"
        }
        let counts = [
            conflicts.isEmpty ? nil : counted(conflicts.count, "conflict", "conflicts"),
            failures.isEmpty ? nil : counted(failures.count, "failed change", "failed changes"),
        ].compactMap(\.self)
        let name = mountPoint.split(separator: "/").last.map(String.init) ?? mountPoint
        summary = "\(counts.joined(separator: " and ")) in \(name.singleLine)"
        var lines = failures.prefix(Self.shownMax)
        if failures.count > Self.shownMax {
            lines.append("and \(failures.count - Self.shownMax) more")
        }
        if !conflicts.isEmpty {
            let rest = conflicts.count - Self.shownMax
            let names =
                conflicts.prefix(Self.shownMax).joined(separator: ", ")
                + (rest > 0 ? " and \(rest) more" : "")
            lines.append("\(names): changed here and on the remote. Both versions are kept.")
        }
        body = (lines + ["See `apus status`, or the page of `apus web`."]).joined(separator: "\n")
    }
}

/// Decides when notifications tell of conflicts and failures: one for each burst of them. Has no clock:
/// time is an argument.
package struct AttentionBursts: Sendable {
    /// How long the first item of a burst waits for others.
    package static let gathering: Duration = .seconds(5)
    /// The time between two notifications, at least.
    package static let interval: Duration = .seconds(60)

    private var known: Set<AttentionItem.Identity>?
    private var fresh: [AttentionItem] = []
    private var last: Duration?
    /// When the next notification is due; nil if nothing is new.
    package private(set) var due: Duration?

    package init() {}

    /// Records the items that wait for a person now. Those of the first call are not new: an earlier run
    /// has told of them, and so does `apus status`.
    package mutating func note(_ items: [AttentionItem], at now: Duration) {
        let present = Set(items.map(\.identity))
        defer { known = present }
        guard let known else { return }
        fresh.removeAll { !present.contains($0.identity) }
        fresh += items.filter { !known.contains($0.identity) }
        guard !fresh.isEmpty else { return due = nil }
        due = due ?? max(now + Self.gathering, last.map { $0 + Self.interval } ?? .zero)
    }

    /// Returns the items to tell of now; empty before the next notification is due.
    package mutating func take(at now: Duration) -> [AttentionItem] {
        guard let due, due <= now else { return [] }
        defer { fresh = [] }
        (self.due, last) = (nil, now)
        return fresh
    }
}
