import Engine

/// Decides whether a mount behaved correctly in a run.
protocol Judge {
    /// Whether a step of another client belongs to the initial tree.
    mutating func accepts(_ step: OtherClientStep) -> Bool

    /// Called before a step is performed on the engine.
    mutating func prepare(for step: ProgramStep)

    /// Checks the answer of the engine to a step.
    ///
    /// - Parameter touched: The file that the step uses, if it was found, and its agreed version
    ///   before.
    mutating func judge(
        _ step: ProgramStep, _ answer: Result<ProgramAnswer, EngineError>,
        _ touched: (inode: InodeNumber, version: ETag?)?, since start: Duration,
        _ faultPlan: FaultPlan
    ) throws(ProgramFailure)

    /// Called before an orderly unmount.
    mutating func prepareForStop()

    /// Called after an orderly unmount during which neither process nor disk failed.
    mutating func noteOrderlyEnd()

    /// Called before a power cut.
    mutating func prepareForPowerCut()

    /// Checks the tree of a new process; the remote has no faults meanwhile.
    mutating func checkRestart(wasPowerCut: Bool, _ faultPlan: FaultPlan) async throws

    /// Waits until all changes are uploaded, and checks the mounted tree and the remote.
    mutating func finish(_ faultPlan: FaultPlan) async throws
}
