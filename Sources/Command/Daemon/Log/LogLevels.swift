import Logging

/// The lowest level that the log shows of each module: `info`, or `transport=debug,engine=info`.
struct LogLevels: Hashable, Sendable {
    /// The parts of a daemon that have a level of their own; the labels of their loggers.
    enum Module: String, CaseIterable {
        case daemon, engine, mount, provider, transport, control

        var logger: Logger { Logger(label: rawValue) }
    }

    static let standard = LogLevels()

    private(set) var usual = Logger.Level.info
    private(set) var levels: [Module: Logger.Level] = [:]

    init() {}

    /// - Throws: ``LogLevelsError``.
    init(parsing text: String) throws(LogLevelsError) {
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let words = part.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let level = words.last.flatMap({ Logger.Level(rawValue: String($0)) }) else {
                throw LogLevelsError(
                    "\"\(words.last ?? "")\" is not a level; write one of "
                        + Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))
            }
            guard words.count > 1 else {
                usual = level
                continue
            }
            guard let module = Module(rawValue: String(words[0])) else {
                throw LogLevelsError(
                    "\"\(words[0])\" is not a module; write one of "
                        + Module.allCases.map(\.rawValue).joined(separator: ", "))
            }
            levels[module] = level
        }
    }

    /// In the form of ``init(parsing:)``.
    var text: String {
        let others = levels.sorted { $0.key.rawValue < $1.key.rawValue }
        return (["\(usual)"] + others.map { "\($0.key.rawValue)=\($0.value)" })
            .joined(separator: ",")
    }

    /// - Parameter label: That of a logger, which need not be one of ours.
    func level(of label: String) -> Logger.Level {
        Module(rawValue: label).flatMap { levels[$0] } ?? usual
    }
}

struct LogLevelsError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
