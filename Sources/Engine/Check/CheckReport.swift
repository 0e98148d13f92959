/// One thing that a check found in a state directory.
package struct CheckFinding: Hashable, Sendable, Codable {
    /// What is concerned.
    package enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
        /// The database file itself.
        case database
        /// A value that no version of Apus writes.
        case value
        case root
        /// A name that leads nowhere, or from nowhere.
        case name
        /// An inode without a name that should have one.
        case orphan
        /// Directories that lie in each other.
        case circle
        /// A link count.
        case links
        /// What both sides agreed on.
        case synced
        /// What was seen on the remote.
        case remote
        /// Changes that wait, or should.
        case pending
        case attempt
        case conflict
        case extents
        /// The bytes of a file.
        case content
        /// Bytes that belong to nothing.
        case stray
        /// What a process that was killed leaves behind.
        case leftover
        /// A file that is not ours.
        case unknown
    }

    package enum Outcome: String, Hashable, Sendable, Codable {
        case repaired
        /// A dry run changes nothing.
        case repairable
        /// Something is gone for good, whether or not the state is in order now.
        case lost
        /// It needs a person.
        case left
        /// Nothing is wrong.
        case note
    }

    package var kind: Kind
    package var outcome: Outcome
    /// The inode's number, where there is one.
    package var inode: Int64?
    /// From the mount point on, as far as it is known; or a path in the state directory.
    package var path: String?
    package var what: String
    /// What is done about it.
    package var repair: String?
    /// What is gone for good.
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

/// What a check looked at, found and did.
package struct CheckReport: Hashable, Sendable, Codable {
    /// How many findings are kept; all are counted.
    private static let findingsMax = 1_000

    /// What the state belongs to, as far as that can be read.
    package var source: String?
    package var isDryRun: Bool
    package var inodes: Int = 0
    package var contentFiles: Int = 0
    package private(set) var findings: [CheckFinding] = []
    /// How many findings there were of each outcome.
    package private(set) var counts: [String: Int] = [:]

    package init(isDryRun: Bool) {
        self.isDryRun = isDryRun
    }

    package mutating func add(_ finding: CheckFinding) {
        counts[finding.outcome.rawValue, default: 0] += 1
        if findings.count < Self.findingsMax { findings.append(finding) }
    }

    /// Takes in what a further look found.
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

    /// Whether nothing was found but what is normal.
    package var isClean: Bool {
        count(.repaired) == 0 && isInOrder
    }

    /// Whether nothing is left to do, and nothing was lost.
    package var isInOrder: Bool {
        count(.repairable) == 0 && count(.lost) == 0 && count(.left) == 0
    }
}

/// How far a check is.
package struct CheckProgress: Hashable, Sendable {
    /// What it looks at: `content files`.
    package var step: String
    package var done: Int
    /// nil where nobody knows.
    package var total: Int?

    package init(step: String, done: Int, total: Int?) {
        self.step = step
        self.done = done
        self.total = total
    }
}
