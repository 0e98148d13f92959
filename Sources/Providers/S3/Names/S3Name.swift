import Engine

/// Shows any part of a key as a file name, and finds the part again: each name stands for one part
/// and each part has one name.
///
/// Most parts are names as they are. A part that is none (empty, `.`, `..`, with a NUL, or longer
/// than 255 bytes), and a directory whose name a file has as well, shows under a name with
/// escapes: `␛` (U+241B) and two hexadecimal digits stand for a byte, `␛␛` for `␛`, `␛/`, written
/// `␛D` at the end, says that this is the directory, and `␛C` at the end that the part goes on in
/// the names below. The empty part is `␛M` as a file, which is what the marker of its directory
/// holds, and `␛D` as a directory. Anything else with a `␛` in it stands for itself.
///
/// What ends in `␛D` or `␛C`, and `␛M`, shows what others have made; nothing new gets such a name,
/// so nobody's file can be taken for a directory's marker.
struct S3Name: Hashable, Sendable {
    enum Form: Hashable, Sendable {
        /// What the part is, a file or a directory.
        case whole
        /// The directory of a part that names a file too.
        case besideFile
        /// The beginning of a part that is too long; the rest is a name below this one.
        case beginning
    }

    /// The part of the key, without `/`.
    let part: [UInt8]
    let form: Form

    private static let mark: [UInt8] = Array("\u{241B}".utf8)
    /// Bytes of a part that are shown in one name at most.
    private static let beginningBytesMax = 200

    init(part: [UInt8], form: Form = .whole) {
        self.part = part
        self.form = form
    }

    /// What a name stands for.
    init(_ name: FileName) {
        if let escaped = Self.escaped(in: name.bytes) {
            self = escaped
        } else {
            self.init(part: name.bytes)
        }
    }

    /// The name; nil where it would be longer than a name may be.
    var name: FileName? {
        if form == .whole, let name = FileName(part), Self.escaped(in: part) == nil { return name }
        return FileName(Self.escape(part, form))
    }

    /// The beginning of a part that is too long for a name.
    static func beginning(of part: some Collection<UInt8>) -> S3Name {
        var beginning = Array(part.prefix(beginningBytesMax))
        while escape(beginning, .beginning).count > FileName.bytesMax { beginning.removeLast() }
        // Not in the middle of a letter, where there are letters.
        let isWithinLetter = { (index: Int) -> Bool in
            let byte: UInt8? = part.dropFirst(index).first
            return byte.map { $0 & 0xC0 == 0x80 } ?? false
        }
        let letters = (max(1, beginning.count - 3)...max(1, beginning.count)).reversed()
        if let end = letters.first(where: { !isWithinLetter($0) }) {
            beginning.removeLast(beginning.count - end)
        }
        return S3Name(part: beginning, form: .beginning)
    }

    // MARK: Escapes

    private static func escape(_ part: [UInt8], _ form: Form) -> [UInt8] {
        var bytes: [UInt8] = []
        if part.isEmpty && form == .whole { bytes = mark + [UInt8(ascii: "M")] }
        let isDots = part == [0x2E] || part == [0x2E, 0x2E]
        var rest = part[...]
        while let byte = rest.first {
            if rest.starts(with: mark) {
                bytes += mark + mark
                rest = rest.dropFirst(mark.count)
                continue
            }
            let isEscaped = byte == 0 || isDots
            bytes += isEscaped ? mark + Array(S3Encoding.hexadecimal([byte]).utf8) : [byte]
            rest = rest.dropFirst()
        }
        switch form {
        case .whole: return bytes
        case .besideFile: return bytes + mark + [UInt8(ascii: "D")]
        case .beginning: return bytes + mark + [UInt8(ascii: "C")]
        }
    }

    /// What a name with escapes stands for; nil if it stands for itself.
    ///
    /// It does so unless it is exactly what its meaning is escaped to, and that could not do
    /// without: so no two names mean the same.
    private static func escaped(in bytes: [UInt8]) -> S3Name? {
        guard let found = unescape(bytes), escape(found.part, found.form) == bytes else {
            return nil
        }
        switch found.form {
        case .besideFile: return found
        case .beginning: return found.part.isEmpty ? nil : found
        case .whole:
            let isPlain = FileName(found.part) != nil && escaped(in: found.part) == nil
            return isPlain ? nil : found
        }
    }

    private static func unescape(_ bytes: [UInt8]) -> S3Name? {
        var part: [UInt8] = []
        var form = Form.whole
        var rest = bytes[...]
        var isEscaped = false
        while let byte = rest.first {
            guard rest.starts(with: mark) else {
                part.append(byte)
                rest = rest.dropFirst()
                continue
            }
            isEscaped = true
            rest = rest.dropFirst(mark.count)
            if rest.starts(with: mark) {
                part += mark
                rest = rest.dropFirst(mark.count)
            } else if rest == [UInt8(ascii: "D")] || rest == [UInt8(ascii: "C")] {
                form = rest.first == UInt8(ascii: "D") ? .besideFile : .beginning
                rest = []
            } else if rest == [UInt8(ascii: "M")] && part.isEmpty {
                rest = []
            } else if rest.count >= 2,
                let value = S3Encoding.bytes(
                    hexadecimal: String(decoding: rest.prefix(2), as: UTF8.self))
            {
                part += value
                rest = rest.dropFirst(2)
            } else {
                return nil
            }
        }
        return isEscaped ? S3Name(part: part, form: form) : nil
    }
}
