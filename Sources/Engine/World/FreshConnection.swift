/// Tells a provider to use a new connection for a call, as far as it decides that.
///
/// After a change of the network path all idle connections are dead without a notice, and each call
/// that gets one of them is silent.
package enum FreshConnection {
    @TaskLocal package static var isWanted = false

    /// Sets it during `call`.
    ///
    /// Not optimised: code of Swift 6.3 that is crashes in `withValue`.
    @_optimize(none)
    static func wanted<Value: Sendable>(
        _ isWanted: Bool, _ call: @Sendable () async -> Value
    ) async -> Value {
        await $isWanted.withValue(isWanted) { await call() }
    }
}
