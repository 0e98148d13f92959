/// The logins and passwords per host in `~/.netrc`, as for `ftp` and `curl`.
///
/// Words are separated by blanks or line ends; in double quotes a word may contain blanks, and `\`
/// escapes the next character. `#` at the start of a word begins a comment. `macdef` and its lines,
/// up to an empty one, are skipped.
struct Netrc {
    private struct Entry {
        /// nil for `default`.
        var machine: String?
        var login: String?
        var password: String?
    }

    private var entries: [Entry] = []

    init(parsing text: String) {
        var words = NetrcWords(text)
        while let word = words.next() {
            switch word {
            case "machine": entries.append(Entry(machine: words.next()?.lowercased() ?? ""))
            case "default": entries.append(Entry(machine: nil))
            case "login": set(\.login, words.next())
            case "password": set(\.password, words.next())
            case "account": _ = words.next()
            case "macdef": words.skipParagraph()
            default: continue
            }
        }
    }

    private mutating func set(_ field: WritableKeyPath<Entry, String?>, _ value: String?) {
        guard let last = entries.indices.last else { return }
        entries[last][keyPath: field] = value
    }

    /// Returns the credentials of the first entry for the host; otherwise of the first `default`.
    func credentials(for host: String) -> Credentials? {
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        let entry =
            entries.first { $0.machine == bare.lowercased() || $0.machine == host }
            ?? entries.first { $0.machine == nil }
        guard let login = entry?.login, let password = entry?.password else { return nil }
        return .password(user: login, Secret(password))
    }
}

private struct NetrcWords {
    private var rest: Substring

    init(_ text: String) {
        rest = text[...]
    }

    mutating func next() -> String? {
        while true {
            rest = rest.drop(while: \.isWhitespace)
            guard rest.first == "#" else { break }
            rest = rest.drop { !$0.isNewline }
        }
        guard let first = rest.first else { return nil }
        if first == "\"" {
            rest = rest.dropFirst()
            return quoted()
        }
        let word = rest.prefix { !$0.isWhitespace }
        rest = rest.dropFirst(word.count)
        return String(word)
    }

    private mutating func quoted() -> String {
        var word = ""
        while let character = rest.popFirst(), character != "\"" {
            if character == "\\", let escaped = rest.popFirst() {
                word.append(escaped)
            } else {
                word.append(character)
            }
        }
        return word
    }

    mutating func skipParagraph() {
        while !rest.isEmpty {
            let line = rest.prefix { !$0.isNewline }
            rest = rest.dropFirst(line.count).dropFirst()
            if rest.first?.isNewline ?? true { return }
        }
    }
}
