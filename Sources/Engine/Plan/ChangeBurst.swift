/// Recognises that programs make, remove, rename or change the attributes of many items one after the other, as
/// `git clone`, `tar`, `rm -rf` and `chown -R` do.
///
/// Their user waits for them, and uploads compete with them for processors and disk: beside the uploads of its
/// own files a clone takes two to three times as long on two cores. A change of new files makes most of their
/// uploads needless.
struct ChangeBurst {
    /// The number of changes from which on uploads wait.
    static let changesMin = 20
    /// The pause between two changes that ends a burst.
    static let pauseMax = Duration.milliseconds(100)
    /// The time for which uploads wait, at most, until ``restMin`` has passed without a change. After it they go on
    /// beside the changes.
    static let holdMax = Duration.seconds(5)
    static let restMin = Duration.seconds(1)

    private var changes = 0
    /// The first change after the last rest.
    private var start = Duration.zero
    private var last = Duration.zero - restMin

    /// Records a change.
    mutating func note(at now: Duration) {
        if now - last >= Self.restMin { start = now }
        if now - last >= Self.pauseMax { changes = 0 }
        changes += 1
        last = now
    }

    /// Ends the wait for the burst, as a user waits for the uploads.
    mutating func end() { changes = 0 }

    /// Returns the time until which uploads wait, unless there are more changes by then; nil if they do not wait.
    func holdEnd(at now: Duration) -> Duration? {
        let end = min(last + Self.pauseMax, start + Self.holdMax)
        return changes >= Self.changesMin && now < end ? end : nil
    }
}
