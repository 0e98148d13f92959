import Engine

/// Distinguishes an rclone that hangs from one that waits for a slow cloud: both delay an answer, but
/// only the second one answers a call that needs no work.
struct RclonePulse<Process: Equatable & Sendable>: Sendable {
    /// The duration of a call before rclone is checked, and the interval between checks.
    static var interval: Duration { .seconds(10) }
    /// The deadline of a check.
    static var answerMax: Duration { .seconds(7) }
    /// The number of consecutive failed checks after which rclone counts as hanging: more than one,
    /// since a machine that was suspended wakes up past its deadlines. Together they take less time
    /// than a transfer may stall.
    static var silencesMax: Int { 2 }

    let clock: any Clock
    /// Returns the running process, if any.
    let process: @Sendable () -> Process?
    /// Checks rclone; returns after ``answerMax`` at the latest.
    let isSilent: @Sendable () async -> Bool
    /// Kills a process.
    let kill: @Sendable (Process) -> Void

    /// Watches a call until the task is cancelled.
    func watch() async {
        while true {
            do {
                try await clock.sleep(until: clock.uptime + Self.interval)
            } catch {
                return
            }
            if let process = process(), await hangs(), self.process() == process { kill(process) }
        }
    }

    private func hangs() async -> Bool {
        for _ in 0..<Self.silencesMax {
            guard await isSilent(), !Task.isCancelled else { return false }
        }
        return true
    }
}
