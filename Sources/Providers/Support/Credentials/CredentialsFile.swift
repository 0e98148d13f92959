import Glibc
import TOMLKit

/// The credentials in `~/.config/apus/config.toml`.
///
/// ```toml
/// [[credentials]]
/// source = "webdav+https://cloud.example.org/dav"   # this, and all below it
/// username = "me"
/// password = "secret"                # or bearer = "token", without username
///                                    # or password-command = "pass show cloud"
/// ```
struct CredentialsFile {
    /// One table of the file.
    struct Entry: Sendable {
        fileprivate enum Proof: Sendable {
            case password(Secret)
            case command(Secret)
            case bearer(Secret)
        }

        let source: String
        fileprivate let user: String?
        fileprivate let proof: Proof
        fileprivate let path: String
    }

    private static let keys = ["source", "username", "password", "password-command", "bearer"]

    private var entries: [Entry] = []

    var isEmpty: Bool { entries.isEmpty }

    /// - Parameters:
    ///   - path: For messages.
    ///   - normalised: See ``CredentialSearch``.
    init(
        parsing text: String, path: String, normalised: (String) -> String?
    ) throws(SourceError) {
        let table: TOMLTable
        do {
            table = try TOMLTable(string: text)
        } catch let error as TOMLParseError {
            // Not the parser's own message, which may quote a secret.
            throw Self.failure(path, "line \(error.source.begin.line) is not valid TOML")
        } catch {
            throw Self.failure(path, "not valid TOML")
        }
        guard let value = table["credentials"] else { return }
        guard let array = value.array else {
            throw Self.failure(path, "credentials must be tables: [[credentials]]")
        }
        for (index, item) in array.enumerated() {
            let place = "[[credentials]] number \(index + 1)"
            guard let table = item.table else { throw Self.failure(path, "\(place): not a table") }
            entries.append(try Self.entry(table, place, path, normalised))
        }
    }

    /// Returns the entry for a source, or for its nearest ancestor.
    func entry(for source: String) -> Entry? {
        entries.filter { source == $0.source || source.hasPrefix($0.source + "/") }
            .max { $0.source.utf8.count < $1.source.utf8.count }
    }

    private static func entry(
        _ table: TOMLTable, _ place: String, _ path: String, _ normalised: (String) -> String?
    ) throws(SourceError) -> Entry {
        var values: [String: String] = [:]
        for key in table.keys {
            guard keys.contains(key) else {
                let near = Spelling.nearest(to: key, among: keys)
                throw failure(
                    path, "\(place) has an unknown key",
                    remedy: near.map { "write \"\($0)\"" }
                        ?? "valid keys are \(keys.joined(separator: ", "))")
            }
            guard let value = table[key]?.string, !value.isEmpty else {
                throw failure(path, "\(key) of \(place) is not a string")
            }
            values[key] = value
        }
        guard let source = values["source"] else {
            throw failure(path, "\(place) has no source")
        }
        let user = values["username"]
        let proofs: [Entry.Proof?] = [
            values["password"].map { .password(Secret($0)) },
            values["password-command"].map { .command(Secret($0)) },
            values["bearer"].map { .bearer(Secret($0)) },
        ]
        let given = proofs.compactMap(\.self)
        guard given.count == 1, let proof = given.first, (user == nil) == (values["bearer"] != nil)
        else {
            throw failure(
                path, "\(place) has incomplete credentials",
                remedy: "give username and password, username and password-command, or bearer")
        }
        let bare = source.hasSuffix("/") ? String(source.dropLast()) : source
        return Entry(
            source: normalised(source) ?? bare, user: user, proof: proof, path: path)
    }

    fileprivate static func failure(
        _ path: String, _ problem: String, remedy: String = "correct the file"
    ) -> SourceError {
        SourceError(.unavailable, "\(path): \(problem)", remedy: remedy)
    }
}

extension CredentialsFile.Entry {
    /// - Throws: `.unavailable` if a password command fails.
    func credentials(_ commands: SecretCommands) async throws(SourceError) -> Credentials {
        switch proof {
        case .password(let password): return .password(user: user ?? "", password)
        case .bearer(let token): return .bearer(token)
        case .command(let line):
            return .password(user: user ?? "", try await output(of: line, commands))
        }
    }

    /// Returns the first line of a command's output.
    private func output(
        of line: Secret, _ commands: SecretCommands
    ) async throws(SourceError) -> Secret {
        let output: [UInt8]
        do throws(SecretCommand.Failure) {
            output = try await commands.output(
                of: SecretCommand(line: line, name: "password-command of config.toml"))
        } catch {
            throw CredentialsFile.failure(
                path, "password-command \(error.problem)",
                remedy: "run it in a terminal to see why")
        }
        let line = output.prefix { $0 != UInt8(ascii: "\n") }
        guard !line.isEmpty else {
            throw CredentialsFile.failure(
                path, "password-command printed nothing", remedy: "run it in a terminal to see why")
        }
        return Secret(String(decoding: line, as: UTF8.self))
    }
}
