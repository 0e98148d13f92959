import Foundation
import Testing

/// The table in `docs/sync.md` of what is planned.
struct PlannerTable {
    static let header = ["kind", "here", "agreed", "there", "in the way", "plan"]
    /// The row that speaks of other rows' plans.
    private static let remoteChanges = "changes of the remote"

    struct Row: CustomTestStringConvertible, Sendable {
        var description: String
        var plan: String
        /// The words that a state may have.
        var allowed: UInt64
        /// Whether it takes the place of each plan that would change the remote.
        var replacesRemoteChanges: Bool

        var testDescription: String { description }

        func holds(for state: WordedState) -> Bool { state.set & ~allowed == 0 }
    }

    var rows: [Row]
    /// Words that are not in the vocabulary.
    var unknown: [String] = []

    static let document = Result { try PlannerTable(parsing: text()) }

    private static func text() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: "docs/sync.md"), encoding: .utf8)
    }

    init(parsing text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let start = lines.firstIndex { Self.cells($0) == Self.header } ?? lines.endIndex
        rows = []
        for line in lines[start...].dropFirst(2) {
            let cells = Self.cells(line)
            guard cells.count == Self.header.count else { break }
            rows.append(row(cells, String(line)))
        }
    }

    private static func cells(_ line: Substring) -> [String] {
        guard line.hasPrefix("|"), line.hasSuffix("|") else { return [] }
        return line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// A comma stands between answers to different questions, a slash between those to one.
    private mutating func row(_ cells: [String], _ line: String) -> Row {
        let isSpecial = cells[0] == Self.remoteChanges
        let words = cells.dropLast().dropFirst(isSpecial ? 1 : 0)
            .flatMap { $0.split(separator: ",") }
            .flatMap { $0.split(separator: "/") }
            .map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { $0 != "any" && !$0.isEmpty }
        unknown += words.filter { PlannerVocabulary.bits[$0] == nil }
        var said = PlannerVocabulary.bits(words)
        if said & PlannerVocabulary.saidOfNamed != 0 { said |= PlannerVocabulary.bits(["named"]) }
        // Of these, silence means no.
        for silent in ["nothing asked", "nothing held above", "not excluded", "no namesake"] {
            let axis = PlannerVocabulary.masks.first {
                $0 & PlannerVocabulary.bits([silent]) != 0
            }
            let isLocal = WordedState.changesRemote(cells[5]) == false
            if silent == "nothing held above", isLocal { continue }
            if let axis, said & axis == 0 { said |= PlannerVocabulary.bits([silent]) }
        }
        let allowed = PlannerVocabulary.masks.reduce(UInt64(0)) { allowed, axis in
            allowed | (said & axis == 0 ? axis : said & axis)
        }
        return Row(
            description: line, plan: cells[5], allowed: allowed, replacesRemoteChanges: isSpecial)
    }

    /// The plans of all rows that hold for a state.
    func plans(for state: WordedState) -> Set<String> {
        var plans: Set<String> = []
        let above = PlannerVocabulary.bits(["held above", "nothing held above"])
        let below = WordedState(
            set: state.set & ~above | PlannerVocabulary.bits(["nothing held above"]))
        for row in rows {
            if row.replacesRemoteChanges {
                guard row.holds(for: state) else { continue }
                if rows.contains(where: {
                    WordedState.changesRemote($0.plan) && $0.holds(for: below)
                }) {
                    plans.insert(row.plan)
                }
            } else if row.holds(for: state) {
                plans.insert(row.plan)
            }
        }
        return plans
    }
}

extension WordedState {
    /// Whether the words of a plan are about a change of the remote.
    static func changesRemote(_ plan: String) -> Bool {
        ["upload", "make", "move", "step aside", "set attributes", "delete"].contains {
            plan.hasPrefix($0)
        }
    }
}
