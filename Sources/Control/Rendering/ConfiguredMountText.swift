extension ConfiguredMountReport {
    /// Returns two lines: the name and its condition, then source and path.
    ///
    /// - Parameter columns: The width to which paths are shortened; nil for no limit.
    package func text(columns: Int?) -> String {
        [
            [.words("\(name): ")] + state,
            [.words("  "), .path(source), .words(" on "), .path(path)],
        ].map { TextLine($0).shortened(to: columns) }.joined(separator: "\n")
    }

    private var state: [TextLine.Part] {
        switch condition {
        case .mounted: return [.words("mounted")]
        case .dead:
            return [
                .words("its daemon has died; run `apus unmount "), .path(path.shellEscaped),
                .words("`"),
            ]
        case .unmounted, .occupied:
            let why = condition == .occupied ? ", as something else is mounted there" : ""
            guard let mountPoint else { return [.words("not mounted" + why)] }
            return [.words("not mounted there" + why + ", but on "), .path(mountPoint)]
        }
    }
}
