import Testing

@testable import Engine

/// Goal: `docs/sync.md` says what is planned, for every state that there can be.
@Suite("The planner's table") struct PlannerTableTests {
    private let table: PlannerTable

    init() throws {
        table = try PlannerTable.document.get()
    }

    private static let rows = (try? PlannerTable.document.get().rows) ?? []

    @Test func `is found, and says nothing but the words that are explained`() {
        #expect(table.rows.count > 40)
        #expect(table.unknown == [])
    }

    /// Method: each state of which the row speaks is planned.
    @Test(arguments: rows) func `is what the planner does`(row: PlannerTable.Row) {
        let states = PlannerVocabulary.states.filter {
            row.holds(for: $0) && table.plans(for: $0).contains(row.plan)
        }
        #expect(!states.isEmpty, "no state is like this")
        let wrong = states.first { $0.operation(row.plan) != Planner.plan($0.state) }
        if let wrong {
            Issue.record("\(wrong) is planned as \(Planner.plan(wrong.state))")
        }
    }

    @Test func `has one plan for each state`() {
        #expect(PlannerVocabulary.states.count > 10_000)
        let open = PlannerVocabulary.states.filter { table.plans(for: $0).count != 1 }
        for state in open.prefix(5) {
            let plans = table.plans(for: state).sorted()
            Issue.record("\(state) has the plans \(plans); planned is \(Planner.plan(state.state))")
        }
        #expect(open.isEmpty, "\(open.count) states of \(PlannerVocabulary.states.count)")
    }

    @Test func `tells which plans change the remote as the planner does`() {
        for row in table.rows where !row.replacesRemoteChanges {
            guard let state = PlannerVocabulary.states.first(where: { row.holds(for: $0) }),
                let operation = state.operation(row.plan)
            else {
                Issue.record("\(row.description) has no state, or no plan")
                continue
            }
            #expect(operation.isOnRemote == WordedState.changesRemote(row.plan))
        }
    }
}
