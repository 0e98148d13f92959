/// Recognises that programs change names or attributes of many items one after the other, as `git clone`, `tar`,
/// `rm -rf` and `chown -R` do.
///
/// Their user waits for them, and uploads compete with them for processors and disk: beside the uploads of its
/// own files a clone takes two to three times as long on two cores. A change of new files makes most of their
/// uploads needless.
struct ChangeBurst {
    /// The number of changes from which on uploads wait.
    static let changesMin = 20
    /// The pause between two changes that ends a burst.
    static let pauseMax = Duration.milliseconds(100)
    /// The time for which uploads wait for the end of a burst. After it they go on beside it.
    static let holdMax = Duration.seconds(5)

    private var changes = 0
    private var last = Duration.zero
    /// The time for which uploads may still wait. A pause restores twice its length, so that uploads have a third of
    /// the time, however the changes are spread.
    private var budget = Self.holdMax

    /// Records a change.
    mutating func note(at now: Duration) {
        let elapsed = now - last
        let held = changes >= Self.changesMin ? min(elapsed, Self.pauseMax, budget) : .zero
        budget -= held
        if elapsed >= Self.pauseMax {
            budget = min(Self.holdMax, budget + (elapsed - held) * 2)
            changes = 0
        }
        changes += 1
        last = now
    }

    /// Ends the wait, as a user waits for the uploads: there is no other before a pause.
    mutating func end() { budget = .zero }

    /// Returns the time until which uploads wait, unless there are more changes by then; nil if they do not wait.
    func holdEnd(at now: Duration) -> Duration? {
        let end = last + min(Self.pauseMax, budget)
        return changes >= Self.changesMin && now < end ? end : nil
    }
}
