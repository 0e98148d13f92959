/// One finding of a check in a state directory.
package struct CheckFinding: Hashable, Sendable, Codable {
    package enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
        /// The database file itself.
        case database
        /// A value that no version of Apus writes.
        case value
        case root
        /// A name without a valid inode or parent.
        case name
        /// A linked inode without a name.
        case orphan
        /// Directories that contain each other.
        case circle
        case links
        /// The state last agreed on by both sides.
        case synced
        /// The state last seen on the remote.
        case remote
        case pending
        case intent
        case conflict
        case extents
        /// The bytes of a file.
        case content
        /// Bytes that belong to no file.
        case stray
        /// A leftover of a killed process.
        case leftover
        /// A file that Apus did not make.
        case unknown
    }

    package enum Outcome: String, Hashable, Sendable, Codable {
        case repaired
        /// Not repaired, in a dry run.
        case repairable
        /// Data is permanently lost, even if the state is valid now.
        case lost
        /// The user has to act.
        case left
        /// Not an error.
        case note
    }

    package var kind: Kind
    package var outcome: Outcome
    package var inode: Int64?
    /// Below the mount point, as far as known, or in the state directory.
    package var path: String?
    package var what: String
    package var repair: String?
    /// The data that is permanently lost.
    package var loss: String?

    package init(
        _ kind: Kind, _ outcome: Outcome, inode: InodeNumber? = nil, path: String? = nil,
        what: String, repair: String? = nil, loss: String? = nil
    ) {
        self.kind = kind
        self.outcome = outcome
        self.inode = inode?.rawValue
        self.path = path
        self.what = what
        self.repair = repair
        self.loss = loss
    }
}

/// The result of a check.
package struct CheckReport: Hashable, Sendable, Codable {
    /// The number of findings kept; all are counted.
    private static let findingsMax = 1_000

    /// The source that the state belongs to, if it can be read.
    package var source: String?
    package var isDryRun: Bool
    package var inodes: Int = 0
    package var contentFiles: Int = 0
    package private(set) var findings: [CheckFinding] = []
    /// The number of findings of each outcome.
    package private(set) var counts: [String: Int] = [:]

    package init(isDryRun: Bool) {
        self.isDryRun = isDryRun
    }

    package mutating func add(_ finding: CheckFinding) {
        counts[finding.outcome.rawValue, default: 0] += 1
        if findings.count < Self.findingsMax { findings.append(finding) }
    }

    /// Adds the findings of a further check.
    package mutating func add(_ other: CheckReport) {
        (source, inodes, contentFiles) = (other.source, other.inodes, other.contentFiles)
        for finding in other.findings where findings.count < Self.findingsMax {
            findings.append(finding)
        }
        counts.merge(other.counts, uniquingKeysWith: +)
    }

    package func count(_ outcome: CheckFinding.Outcome) -> Int {
        counts[outcome.rawValue] ?? 0
    }

    /// Whether there were no errors.
    package var isClean: Bool {
        count(.repaired) == 0 && isInOrder
    }

    /// Whether no errors are left and nothing was lost.
    package var isInOrder: Bool {
        count(.repairable) == 0 && count(.lost) == 0 && count(.left) == 0
    }
}

/// The progress of a check.
package struct CheckProgress: Hashable, Sendable {
    /// The current step: `content files`.
    package var step: String
    package var done: Int
    /// `nil` if not known.
    package var total: Int?

    package init(step: String, done: Int, total: Int?) {
        self.step = step
        self.done = done
        self.total = total
    }
}
