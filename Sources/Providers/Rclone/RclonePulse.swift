import Engine

/// Tells an rclone that hangs from one that waits for a slow cloud: both owe an answer, but only the
/// second one says that it is there.
struct RclonePulse<Process: Equatable & Sendable>: Sendable {
    /// How long a call takes before rclone is asked whether it is there, and until it is asked again.
    static var interval: Duration { .seconds(10) }
    /// How long it has for that answer.
    static var answerMax: Duration { .seconds(7) }
    /// How often in a row it gives none before it counts as hanging. More than once, as a machine that
    /// slept wakes up past its deadlines. All of it is shorter than a transfer may stand still.
    static var silencesMax: Int { 2 }

    let clock: any Clock
    /// The process that runs now, if any.
    let process: @Sendable () -> Process?
    /// Returns after ``answerMax`` at the latest, and only then if there was no answer.
    let isSilent: @Sendable () async -> Bool
    /// Ends a process for good.
    let kill: @Sendable (Process) -> Void

    /// Watches over a call, until the task is cancelled.
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
