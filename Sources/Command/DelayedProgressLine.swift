import Control

/// Progress on standard error, from the first second on.
final class DelayedProgressLine {
    private let start = ContinuousClock.now
    private var line = ProgressLine.standardError()
    private var isShown = false

    /// - Parameter text: Computed only if it is shown.
    func show(_ text: @autoclosure () -> String) {
        guard ContinuousClock.now - start > .seconds(1) else { return }
        isShown = true
        line.show(text())
    }

    func finish() {
        if isShown { line.finish() }
    }
}
