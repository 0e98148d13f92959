import ArgumentParser
import Foundation
import ProviderSupport
import Providers
import SystemCalls
import TOMLKit

/// Reads one configuration file:
///
/// ```toml
/// [defaults]                    # options of each mount below
/// cache-size = "20GiB"
///
/// [mount.photos]
/// source = "webdav+https://cloud.example.org/dav"
/// path = "~/Photos"
/// read-only = true
/// ```
///
/// `[[credentials]]` of the user's file belong to `CredentialSearch`.
struct ConfigurationFile {
    enum Owner {
        case user, system
    }

    private static let tables = ["credentials", "defaults", "mount"]
    private static let mountKeys = ["source", "path"]

    private let path: String
    private let home: HomePath
    private let outline: TOMLOutline

    /// Returns the mounts of a file; none if there is no such file.
    ///
    /// - Throws: `CommandFailure` with the line for anything that is not understood.
    static func mounts(
        in path: String, of owner: Owner, _ home: HomePath
    ) throws -> [NamedMount] {
        guard let file = try read(path, owner) else { return [] }
        return try ConfigurationFile(path: path, home: home, outline: TOMLOutline(file.text))
            .mounts(file.text, owner)
    }

    private static func read(_ path: String, _ owner: Owner) throws -> SmallFile? {
        let file: SmallFile?
        do throws(SmallFile.Failure) {
            file = try SmallFile(at: path)
        } catch {
            switch error {
            case .system(let error):
                throw CommandFailure(what: "read \(path)", why: "\(error)".lowercased())
            case .notRegular: throw CommandFailure(what: "read \(path)", why: "it is not a file")
            case .tooLong: throw CommandFailure(what: "read \(path)", why: "it is too long")
            }
        }
        guard let file else { return nil }
        // It decides which folder is shown as another, and with which owner and permissions.
        let isTrusted = file.ownerID == 0 || (owner == .user && file.ownerID == geteuid())
        guard isTrusted, file.mode & 0o022 == 0 else {
            throw CommandFailure(
                what: "read \(path)", why: "other users may change it",
                remedy: owner == .user
                    ? "run `chown $USER \(path)` and `chmod go-w \(path)`"
                    : "run `chown root \(path)` and `chmod go-w \(path)` as root")
        }
        return file
    }

    private func mounts(_ text: String, _ owner: Owner) throws -> [NamedMount] {
        let root = try table(text)
        for key in root.keys where !Self.tables.contains(key) {
            throw unknown(key, in: "the file", [key], among: Self.tables.map { "[\($0)]" })
        }
        if owner == .system, root["credentials"] != nil {
            throw failure(
                ["credentials"],
                "credentials are not read from this file, which all users may read",
                remedy: "put them into ~/.config/apus/config.toml of the user who mounts, mode 0600"
            )
        }
        let defaults = try root["defaults"].map { value in
            try settings(try self.table(value, ["defaults"]), ["defaults"], named: "[defaults]", [])
        }
        guard let mounts = root["mount"] else { return [] }
        let table = try self.table(mounts, ["mount"], "write [mount.NAME]")
        return try table.keys.map { name in
            let path = ["mount", name]
            guard MountName.isValid(name) else {
                throw failure(path, "\"\(name)\" is not a name of a mount", remedy: MountName.rule)
            }
            let value = try table[name].map { try self.table($0, path, "write [mount.NAME]") }
            return try mount(name, value ?? TOMLTable(), defaults)
        }
    }

    private func table(_ text: String) throws -> TOMLTable {
        if let again = outline.repetition {
            let isMount = again.path.count == 2 && again.path[0] == "mount"
            throw failure(
                line: again.line,
                (isMount ? "the mount \(again.path[1])" : again.path.joined(separator: "."))
                    + " is given twice, first in line \(again.firstLine)",
                remedy: isMount ? "give one of them another name" : "remove one of them")
        }
        do {
            return try TOMLTable(string: text)
        } catch let error as TOMLParseError {
            // Not the parser's own message, which may quote a secret.
            throw failure(
                line: error.source.begin.line, "the line is not valid TOML",
                remedy: "texts stand in quotes, as in cache-size = \"20GiB\"")
        } catch {
            throw failure(line: 1, "it is not valid TOML", remedy: nil)
        }
    }

    private func table(
        _ value: any TOMLValueConvertible, _ path: [String], _ remedy: String? = nil
    ) throws -> TOMLTable {
        guard let table = value.table else {
            let name = path.joined(separator: ".")
            throw failure(path, "\(name) is not a table", remedy: remedy ?? "write [\(name)]")
        }
        return table
    }
}

// MARK: - Mounts

extension ConfigurationFile {
    private func mount(
        _ name: String, _ table: TOMLTable, _ defaults: MountSettings?
    ) throws -> NamedMount {
        let place = ["mount", name]
        let title = "the mount \(name)"
        let own = try settings(table, place, named: title, Self.mountKeys)
        let source = try source(try text(of: "source", table, place, title), place + ["source"])
        let text = try text(of: "path", table, place, title)
        guard let path = home.resolve(text) else {
            throw failure(
                place + ["path"], "the path of \(title) is not one",
                remedy: "write an absolute path, or ~/… for the home directory")
        }
        return NamedMount(
            name: name, source: source, path: path,
            settings: defaults.map(own.completed) ?? own, file: self.path)
    }

    private func text(
        of key: String, _ table: TOMLTable, _ place: [String], _ title: String
    ) throws -> String {
        guard let value = table[key] else {
            throw failure(place, "\(title) has no \(key)", remedy: "add \(key) = \"…\"")
        }
        guard let text = value.string else {
            throw failure(
                place + [key], "\(key) of \(title) is not a text",
                remedy: "write it in quotes: \(key) = \"…\"")
        }
        return text
    }

    private func source(_ text: String, _ place: [String]) throws -> Source {
        let scheme = "folder:"
        var text = text
        if text.hasPrefix(scheme) {
            text = scheme + (home.relative(String(text.dropFirst(scheme.count))) ?? "")
        }
        do {
            return try Source(parsing: text, workingDirectory: home.home)
        } catch {
            throw failure(place, error.problem, remedy: error.remedy)
        }
    }

    /// Returns the options in a table.
    ///
    /// - Parameter others: Keys that are no options.
    private func settings(
        _ table: TOMLTable, _ place: [String], named title: String, _ others: [String]
    ) throws -> MountSettings {
        var settings = try MountSettings.parse([])
        var given: [String: String] = [:]
        for key in table.keys where !others.contains(key) {
            guard let (option, isInverted) = MountOption.named(key), let value = table[key] else {
                try refuseSecret(key, place + [key])
                throw unknown(key, in: title, place + [key], among: others + MountOption.names)
            }
            if let other = given.updateValue(key, forKey: option.name) {
                throw failure(
                    place + [key], "\(title) has both \(other) and \(key)",
                    remedy: "remove one of them")
            }
            let words = try words(for: option, key, isInverted, value, place + [key])
            settings = settings.completed(by: try parse(words, place + [key]))
        }
        return settings
    }

    private func words(
        for option: MountOption, _ key: String, _ isInverted: Bool,
        _ value: any TOMLValueConvertible, _ place: [String]
    ) throws -> [String] {
        guard option.form.isTexts, let list = value.array else {
            return [try word(for: option, key, isInverted, value, place)]
        }
        return try list.map { try word(for: option, key, isInverted, $0, place) }
    }

    private func word(
        for option: MountOption, _ key: String, _ isInverted: Bool,
        _ value: any TOMLValueConvertible, _ place: [String]
    ) throws -> String {
        switch option.form {
        case .flag:
            if let isOn = value.bool { return option.word(isOn: isOn != isInverted) }
            throw failure(place, "\(key) is neither true nor false", remedy: "write \(key) = true")
        case .number:
            if let number = value.int { return option.word(value: "\(number)") }
        case .text, .texts: break
        case .path:
            if let text = value.string, let path = home.resolve(text) {
                return option.word(value: path)
            }
        }
        guard let text = value.string, !option.form.isPath else {
            throw failure(
                place, "\(key) is not a \(option.form.isPath ? "path" : "text")",
                remedy: "write it in quotes: \(key) = \"…\"")
        }
        return option.word(value: text)
    }

    private func parse(_ words: [String], _ place: [String]) throws -> MountSettings {
        do {
            return try MountSettings.parse(words)
        } catch {
            throw failure(
                place, MountSettings.message(for: error), remedy: "`man apus-mount` has all options"
            )
        }
    }
}

// MARK: - Errors

extension ConfigurationFile {
    private func failure(_ place: [String], _ why: String, remedy: String?) -> CommandFailure {
        failure(line: outline.line(of: place), why, remedy: remedy)
    }

    private func failure(line: Int, _ why: String, remedy: String?) -> CommandFailure {
        CommandFailure(what: "read \(path), line \(line)", why: why, remedy: remedy)
    }

    private func unknown(
        _ key: String, in title: String, _ place: [String], among keys: [String]
    ) -> CommandFailure {
        let near = Spelling.nearest(to: key, among: keys)
        return failure(
            place, "\(title) has the unknown key \"\(key)\"",
            remedy: near.map { "did you mean \($0)?" }
                ?? "the keys are \(keys.joined(separator: ", "))")
    }

    private static let wordsOfSecrets = [
        "access-key", "api-key", "bearer", "credential", "login", "passphrase", "passwd",
        "password", "secret", "token", "username",
    ]

    /// - Throws: `CommandFailure` with the right place, if the key names something secret.
    private func refuseSecret(_ key: String, _ place: [String]) throws {
        let name = key.lowercased().replacing("_", with: "-")
        guard Self.wordsOfSecrets.contains(where: name.contains) else { return }
        throw failure(
            place, "credentials do not belong to a mount",
            remedy:
                "for WebDAV use [[credentials]] in ~/.config/apus/config.toml or ~/.netrc, for S3 "
                + "~/.aws/credentials, for rclone its own configuration (man apus-sources)")
    }
}

extension MountOption.Form {
    fileprivate var isPath: Bool {
        if case .path = self { true } else { false }
    }

    fileprivate var isTexts: Bool {
        if case .texts = self { true } else { false }
    }
}
