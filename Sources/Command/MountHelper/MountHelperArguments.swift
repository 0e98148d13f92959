import Control
import Providers

/// The arguments of a mount helper: `SOURCE DIRECTORY [-sfnv] [-o OPTIONS] [-t TYPE]`, as mount(8) passes
/// them (section "External helpers").
struct MountHelperArguments {
    static let usage =
        "Usage: mount.apus SOURCE DIRECTORY [-fnsv] [-o OPTION[,OPTION…]]; mount -t apus runs it."
    static let manual = "`man mount.apus` lists the options"

    let source: String
    let mountPoint: String
    /// Whether to do everything except mounting.
    private(set) var isFake = false
    private(set) var isVerbose = false
    /// Whether unknown options are ignored.
    private(set) var isSloppy = false
    /// The options of `apus mount`.
    private(set) var options: [String] = []

    /// - Parameter words: Without the name of the program.
    init(parsing words: [String]) throws(MountHelperError) {
        var names: [String] = []
        var lists: [String] = []
        var flags: Set<Character> = []
        var rest = words[...]
        while let word = rest.popFirst() {
            switch word {
            case "-o": lists.append(try Self.value(of: word, &rest))
            case "-t": _ = try Self.value(of: word, &rest)
            case let word where word.hasPrefix("-o"): lists.append(String(word.dropFirst(2)))
            case let word where word.hasPrefix("-"): flags.formUnion(try Self.flags(in: word))
            default: names.append(word)
            }
        }
        guard names.count == 2 else {
            throw Self.badUsage("a source and a directory are needed, not \(names.count) names")
        }
        (source, mountPoint) = (names[0], names[1])
        (isFake, isVerbose) = (flags.contains("f"), flags.contains("v"))
        isSloppy = flags.contains("s")
        for option in lists.flatMap(Self.split) { try add(option) }
    }

    /// The failed action, for errors.
    var attempt: String { "mount \(Source.withoutSecrets(source)) on \(mountPoint)" }

    /// The arguments of `apus mount`.
    var ofMountCommand: [String] { options + ["--", source, mountPoint] }

    /// The command of the same effect, for people.
    var commandLine: String {
        (["apus mount"] + options + ["--", Source.withoutSecrets(source), mountPoint])
            .joined(separator: " ")
    }

    private mutating func add(_ text: Substring) throws(MountHelperError) {
        let option = MountHelperOption(parsing: text)
        switch option.meaning {
        case .word(let word): options.append(word)
        case .nothing: break
        case .unknown(let why):
            guard !isSloppy else { return }
            throw MountHelperError(attempt, why: why, remedy: Self.manual)
        }
    }

    /// Splits a list of options at its commas, except those between double quotes.
    private static func split(_ list: String) -> [Substring] {
        var isQuoted = false
        return list.split { character in
            if character == "\"" { isQuoted.toggle() }
            return character == "," && !isQuoted
        }
    }

    private static func value(
        of option: String, _ rest: inout ArraySlice<String>
    ) throws(MountHelperError) -> String {
        guard let value = rest.popFirst() else { throw badUsage("\(option) needs a value") }
        return value
    }

    private static func flags(in word: String) throws(MountHelperError) -> String {
        let flags = String(word.dropFirst())
        guard !flags.isEmpty, flags.allSatisfy("fnsv".contains) else {
            throw badUsage("\(word) is not an option of a mount helper")
        }
        return flags
    }

    private static func badUsage(_ why: String) -> MountHelperError {
        MountHelperError("mount", why: why, remedy: usage)
    }
}
