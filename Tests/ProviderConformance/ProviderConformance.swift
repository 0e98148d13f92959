package import Engine

/// The contract of ``Provider`` as cases that any implementation must pass.
///
/// Each case runs on a store of its own, which is empty at first, and throws
/// ``ConformanceFailure`` with what was expected and what was found. It imports no test framework,
/// so that any kind of test can run it: against a directory, a simulated store, a real server.
package struct ProviderConformance: Sendable {
    /// One statement of the contract.
    package struct Case: Sendable, CustomStringConvertible {
        package let description: String
        let run: @Sendable (ConformanceStore) async throws -> Void

        init(
            _ description: String,
            _ run: @escaping @Sendable (ConformanceStore) async throws -> Void
        ) {
            self.description = description
            self.run = run
        }
    }

    package static let cases =
        listingCases + readingCases + writingCases + changingCases + namingCases
        + interruptionCases + changeCases

    private let options: ConformanceOptions
    private let makeProvider: @Sendable () async throws -> any Provider

    /// - Parameter makeProvider: Gives a provider with an empty store.
    package init(
        options: ConformanceOptions = ConformanceOptions(),
        makeProvider: @escaping @Sendable () async throws -> any Provider
    ) {
        self.options = options
        self.makeProvider = makeProvider
    }

    /// - Throws: ``ConformanceFailure``, or what the provider threw where it should not have.
    package func run(_ testCase: Case) async throws {
        let provider = try await makeProvider()
        try await testCase.run(ConformanceStore(provider: provider, options: options))
    }
}
