package import Engine
import Glibc
package import ProviderSupport
import SystemCalls

/// The `folder:` form of a ``Source``.
package struct FolderSource: SourceForm, Hashable {
    /// Absolute, without `.`, double slashes and a slash at the end; `..` stays, since only the file
    /// system knows its target after a symbolic link.
    let path: [UInt8]
    let latency: Duration
    let bytesPerSecond: UInt64?
    /// Whether file systems that are mounted below the folder belong to it.
    let entersMounts: Bool
    /// Whether changes of other programs are reported as they happen.
    let isWatched: Bool
    /// The names that the file system takes for one; nil to find out.
    let names: NameMatching?

    package static let forms =
        "folder:/PATH, folder:/PATH?latency=20ms&rate=10MiB&mounts=yes&watch=no&names=caseless"

    private static let parameters = ["latency", "rate", "mounts", "watch", "names"]

    package init(parsing text: Substring, workingDirectory: String?) throws(SourceError) {
        let written = text.prefix { $0 != "?" }
        guard !written.isEmpty else {
            throw SourceError(
                .misspelled, "the source names no folder", remedy: "write \(Self.forms)")
        }
        if written.hasPrefix("~") {
            throw SourceError(
                .misspelled, "\"~\" is not expanded within a source",
                remedy: "write \"folder:$HOME\(written.dropFirst())\"")
        }
        path = Self.absolute(try Self.decoded(written), from: workingDirectory)
        let values = try SourceParameters.values(
            of: text.dropFirst(written.count + 1), names: Self.parameters, owner: "a folder",
            hint: "it has latency, rate, mounts, watch and names; a question mark in a path is "
                + "written %3F"
        )
        do {
            latency = try values["latency"].map(Quantity.duration) ?? .zero
            bytesPerSecond = try values["rate"].map(Self.rate)
        } catch {
            throw SourceError(.misspelled, "\(error)", remedy: "write \(Self.forms)")
        }
        names = try NameProbe.matching(values["names"], Self.forms)
        entersMounts = try Self.isWanted(values["mounts"]) ?? false
        isWatched = try Self.isWanted(values["watch"]) ?? true
    }

    package func connect(_ world: ProviderEnvironment) async throws(SourceError) -> any Provider {
        var folder: FolderProvider
        do {
            var options = FolderOptions()
            options.entersMounts = entersMounts
            options.identity = world.knownRoot
            options.reportsChanges = isWatched
            folder = try await FolderProvider.connect(path: path, options: options)
        } catch {
            throw SourceError(
                .unavailable, "cannot open the folder \"\(String(decoding: path, as: UTF8.self))\"",
                remedy: error.reason, cause: error)
        }
        world.foundRoot(folder.identity)
        // Another file system may be mounted there now.
        folder.traits.names = await world.names(of: folder, stated: names, looksAgain: true)
        guard latency > .zero || bytesPerSecond != nil else { return folder }
        return ThrottledProvider(
            folder, clock: world.clock, latency: latency, bytesPerSecond: bytesPerSecond)
    }

    package func extendedAttributeSpace(bytesMax: Int) -> ExtendedAttributeSpace {
        FolderFileSystem.spaceInWords(bytesMax: bytesMax)
    }

    // MARK: Names

    package var description: String {
        var parameters: [String] = []
        if latency > .zero { parameters.append("latency=\(Self.microseconds(latency))us") }
        if let bytesPerSecond { parameters.append("rate=\(bytesPerSecond)B") }
        if entersMounts { parameters.append("mounts=yes") }
        if !isWatched { parameters.append("watch=no") }
        if let names { parameters.append("names=\(names.rawValue)") }
        let query = parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&")
        return identity + query
    }

    package var identity: String { "folder:\(encodedPath)" }

    package var localFolder: String? { path.text }

    package var stateName: String {
        let last = path.split(separator: UInt8(ascii: "/")).last.map(Array.init)
        return StateName.make(kind: "folder", label: last ?? Array("root".utf8), of: path)
    }

    /// Encodes control characters, `%` and `?`, and all bytes above ASCII unless the path is UTF-8.
    private var encodedPath: String {
        let isText = String(validating: path, as: UTF8.self) != nil
        return PercentCoding.encode(path) { byte in
            byte > 0x1F && byte != 0x7F && (byte < 0x80 || isText) && !"%?".utf8.contains(byte)
        }
    }

    private static func microseconds(_ duration: Duration) -> Int64 {
        duration.components.seconds * 1_000_000
            + (duration.components.attoseconds + 500_000_000_000) / 1_000_000_000_000
    }

    // MARK: Parsing

    private static func decoded(_ text: Substring) throws(SourceError) -> [UInt8] {
        guard let bytes = PercentCoding.decode(text), !bytes.contains(0) else {
            throw SourceError(
                .misspelled, "a percent sign in the path does not encode a byte of a name",
                remedy: "write a percent sign as %25 and a question mark as %3F")
        }
        return bytes
    }

    private static func absolute(_ path: [UInt8], from workingDirectory: String?) -> [UInt8] {
        let slash = UInt8(ascii: "/")
        let start = path.first == slash ? [] : Array((workingDirectory ?? currentDirectory).utf8)
        let parts = (start + [slash] + path).split(separator: slash)
            .filter { $0 != [UInt8(ascii: ".")][...] }
        return parts.isEmpty ? [slash] : parts.reduce([]) { $0 + [slash] + $1 }
    }

    private static var currentDirectory: String {
        guard let path = getcwd(nil, 0) else { return "/" }
        defer { free(path) }
        return String(cString: path)
    }

    private static func isWanted(_ text: String?) throws(SourceError) -> Bool? {
        switch text {
        case "yes": return true
        case "no": return false
        case nil: return nil
        case let other?:
            throw SourceError(
                .misspelled, "\"\(other)\" is neither yes nor no", remedy: "write \(forms)")
        }
    }

    private static func rate(_ text: String) throws(QuantityError) -> UInt64 {
        let bytes = try Quantity.bytes(text.hasSuffix("/s") ? String(text.dropLast(2)) : text)
        guard bytes > 0 else { throw QuantityError(text: text, expected: "a rate above 0") }
        return bytes
    }
}

extension [UInt8] {
    fileprivate var text: String { String(decoding: self, as: UTF8.self) }
}
