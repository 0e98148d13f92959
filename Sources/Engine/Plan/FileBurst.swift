/// Recognises that programs create or remove many files one after the other, as `git clone`, `tar` and `rm -rf`
/// do.
///
/// Their user waits for them, and uploads compete with them for processors and disk: beside the uploads of its
/// own files a clone takes two to three times as long on two cores. A removal of new files makes most of their
/// uploads needless.
struct FileBurst {
    /// The number of files from which on uploads wait.
    static let filesMin = 20
    /// The pause between two files that ends a burst.
    static let pauseMax = Duration.milliseconds(100)
    /// The time for which uploads wait for the end of a burst. After it they go on beside it.
    static let holdMax = Duration.seconds(5)

    private var files = 0
    private var start = Duration.zero
    private var last = Duration.zero

    /// Records a new or removed file.
    mutating func note(at now: Duration) {
        if files == 0 || now - last >= Self.pauseMax { (files, start) = (0, now) }
        files += 1
        last = now
    }

    /// Ends the wait for the burst, as a user waits for the uploads.
    mutating func end() { files = 0 }

    /// Returns the time until which uploads wait, unless there are more files by then; nil if they do not wait.
    func holdEnd(at now: Duration) -> Duration? {
        let end = min(last + Self.pauseMax, start + Self.holdMax)
        return files >= Self.filesMin && now < end ? end : nil
    }
}
