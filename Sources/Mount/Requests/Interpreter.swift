/// A program that runs scripts, with those of its options that matter to find the script among its arguments.
///
/// Sources: python(1), perlrun(1), ruby(1), node(1), bash(1), dash(1), gjs(1).
struct Interpreter {
    /// Its executable files are named so, or so with a version behind.
    let name: String
    /// Letters after which there is no script: the program is in the arguments, or on the standard input.
    let codeLetters: String
    /// Letters whose value is in the rest of the argument, or in the next one.
    var valueLetters = ""
    /// Letters whose value, if any, is in the rest of the argument.
    var restLetters = ""
    /// The letter whose value is the name of a module that is run.
    var moduleLetter: Character?
    /// As ``codeLetters``.
    var codeWords: Set<String> = []
    /// Words whose value is in the next argument, unless it follows a `=`.
    var valueWords: Set<String> = []

    private static let all = [
        Interpreter(
            name: "python", codeLetters: "c", valueLetters: "WX", moduleLetter: "m",
            valueWords: ["--check-hash-based-pycs"]),
        Interpreter(
            name: "perl", codeLetters: "eE", valueLetters: "I", restLetters: "CDFMVdimx"),
        Interpreter(
            name: "ruby", codeLetters: "e", valueLetters: "CEIr", restLetters: "FKTWix"),
        Interpreter(
            name: "node", codeLetters: "ep", valueLetters: "Cr",
            codeWords: ["--eval", "--print"],
            valueWords: [
                "--conditions", "--env-file", "--experimental-loader", "--import", "--loader",
                "--require",
            ]),
        Interpreter(
            name: "bash", codeLetters: "cs", valueLetters: "Oo",
            valueWords: ["--init-file", "--rcfile"]),
        Interpreter(name: "dash", codeLetters: "cs", valueLetters: "o"),
        Interpreter(
            name: "gjs", codeLetters: "c", valueLetters: "CI", codeWords: ["--command"],
            valueWords: ["--coverage-output", "--coverage-prefix", "--include-path"]),
    ]

    /// - Returns: nil if the executable file is not that of an interpreter.
    static func named(_ executable: String) -> Interpreter? {
        all.first { executable.hasPrefix($0.name) }
    }

    /// Returns the script, as it is called in the arguments, or the name of the module that is run; nil if
    /// there is none.
    ///
    /// - Parameter arguments: Those after the name of the program.
    func script(in arguments: some Sequence<Substring>) -> Substring? {
        var rest = arguments.makeIterator()
        while let argument = rest.next() {
            if argument == "--" { return rest.next() }
            guard argument.count > 1, argument.hasPrefix("-") || isShellOption(argument) else {
                // A hyphen stands for the standard input.
                return argument == "-" ? nil : argument
            }
            switch argument.hasPrefix("--") ? word(argument) : letters(argument.dropFirst()) {
            case .flag: break
            case .value: _ = rest.next()
            case .module(let name): return name ?? rest.next()
            case .code: return nil
            }
        }
        return nil
    }

    private enum Option {
        case flag
        /// The next argument belongs to it.
        case value
        /// Its name; nil if that is the next argument.
        case module(Substring?)
        case code
    }

    /// Shells take `+o` beside `-o`.
    private func isShellOption(_ argument: Substring) -> Bool {
        argument.hasPrefix("+") && (name == "bash" || name == "dash")
    }

    private func word(_ argument: Substring) -> Option {
        let parts = argument.split(separator: "=", maxSplits: 1)
        guard let name = parts.first.map(String.init) else { return .flag }
        if codeWords.contains(name) { return .code }
        return valueWords.contains(name) && parts.count == 1 ? .value : .flag
    }

    private func letters(_ letters: Substring) -> Option {
        var takesNext = false
        for index in letters.indices {
            let (letter, rest) = (letters[index], letters[letters.index(after: index)...])
            if codeLetters.contains(letter) { return .code }
            if letter == moduleLetter { return .module(rest.isEmpty ? nil : rest) }
            if restLetters.contains(letter) { return .flag }
            guard valueLetters.contains(letter) else { continue }
            // In a shell, the letters after `o` are options, too: `-euo pipefail`, `-oc pipefail`.
            guard name == "bash" || name == "dash" else { return rest.isEmpty ? .value : .flag }
            takesNext = true
        }
        return takesNext ? .value : .flag
    }
}
