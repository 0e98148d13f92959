/// An option of `apus mount` that the command line, fstab(5) and the configuration file have in common, under
/// one name.
struct MountOption: Sendable {
    enum Form: Sendable {
        /// On or off: `read-only` and `no-read-only`.
        case flag
        case text
        /// A number, or a name in its place.
        case number
        case path
        /// One or more texts: the option may be repeated.
        case texts
    }

    /// Without dashes at its beginning.
    let name: String
    let form: Form
    /// Takes this option from other settings if it is not given.
    let complete: @Sendable (inout MountSettings, MountSettings) -> Void

    private init<Value>(
        _ name: String, _ form: Form,
        _ property: any WritableKeyPath<MountSettings, Value?> & Sendable
    ) {
        self.name = name
        self.form = form
        complete = { settings, others in
            if case .none = settings[keyPath: property] {
                settings[keyPath: property] = others[keyPath: property]
            }
        }
    }

    private init<Value>(
        _ name: String, texts property: any WritableKeyPath<MountSettings, [Value]> & Sendable
    ) {
        self.name = name
        form = .texts
        complete = { settings, others in
            if settings[keyPath: property].isEmpty {
                settings[keyPath: property] = others[keyPath: property]
            }
        }
    }

    static let all = [
        MountOption("allow-other", .flag, \.allowOther),
        MountOption("bandwidth", .text, \.bandwidth),
        MountOption("ca-file", .path, \.caFile),
        MountOption("cache-size", .text, \.cacheSize),
        MountOption("contain-symlinks", .flag, \.containSymlinks),
        MountOption("exclude", texts: \.exclude),
        MountOption("exec", .flag, \.exec),
        MountOption("gid", .number, \.gid),
        MountOption("keep-free", .text, \.keepFree),
        MountOption("log-format", .text, \.logFormat),
        MountOption("log-level", .text, \.logLevel),
        MountOption("memory", .text, \.memory),
        MountOption("offline", .text, \.offline),
        MountOption("read-only", .flag, \.readOnly),
        MountOption("refresh", .text, \.refresh),
        MountOption("scanner", texts: \.scanner),
        MountOption("state-dir", .path, \.stateDir),
        MountOption("stop-timeout", .text, \.stopTimeout),
        MountOption("uid", .number, \.uid),
        MountOption("umask", .text, \.umask),
        MountOption("webhook", .text, \.webhook),
        MountOption("webhook-token-file", .path, \.webhookTokenFile),
    ]

    private static let inversion = "no-"

    /// Returns the option of a name, and whether the name turns a flag off, as `no-exec` does.
    static func named(_ name: String) -> (option: MountOption, isInverted: Bool)? {
        if let option = all.first(where: { $0.name == name }) { return (option, false) }
        guard name.hasPrefix(inversion) else { return nil }
        let flag = name.dropFirst(inversion.count)
        return all.first { $0.name == flag && $0.form.isFlag }.map { ($0, true) }
    }

    /// All names, those that turn a flag off included.
    static var names: [String] {
        all.flatMap { $0.form.isFlag ? [$0.name, inversion + $0.name] : [$0.name] }
    }

    /// Returns the word of the command line for a flag.
    func word(isOn: Bool) -> String { "--" + (isOn ? name : Self.inversion + name) }

    /// Returns the word of the command line for an option with a value.
    func word(value: String) -> String { "--\(name)=\(value)" }
}

extension MountOption.Form {
    var isFlag: Bool {
        if case .flag = self { true } else { false }
    }
}
