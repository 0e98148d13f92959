import Engine
import SystemCalls

/// Maps any part of a key to a file name and back: each name stands for one part, and each part has
/// one name.
///
/// Most parts are valid names. A part that is not (empty, `.`, `..`, with a NUL, or longer than 255
/// bytes), and a directory that shares its name with a file, is shown under a name with escapes:
/// `␛` (U+241B) and two hexadecimal digits stand for a byte, and `␛␛` for `␛`. `␛D` at the end marks
/// the directory, and `␛C` at the end a part that continues in the names below. The empty part is
/// `␛M` as a file, the bytes of its directory's marker, and `␛D` as a directory. Any other name with
/// a `␛` in it stands for itself.
///
/// Names that end in `␛D` or `␛C`, and `␛M`, show objects of other programs. No new object gets such
/// a name, so no file can be mistaken for a directory's marker.
struct S3Name: Hashable, Sendable {
    enum Form: Hashable, Sendable {
        /// The whole part, as a file or a directory.
        case whole
        /// The directory of a part that also names a file.
        case besideFile
        /// The first piece of a part that is too long; the rest is a name below this one.
        case beginning
    }

    /// The part of the key, without `/`.
    let part: [UInt8]
    var form = Form.whole

    private static let mark: [UInt8] = Array("\u{241B}".utf8)
    /// The most bytes of a part that one name shows.
    private static let beginningBytesMax = 200

    /// The name; nil if it would be too long.
    var name: FileName? {
        if form == .whole, let name = FileName(part), Self.escaped(in: part) == nil { return name }
        return FileName(Self.escape(part, form))
    }

    /// The first piece of a part that is too long for a name.
    static func beginning(of part: some Collection<UInt8>) -> S3Name {
        var beginning = Array(part.prefix(beginningBytesMax))
        while escape(beginning, .beginning).count > FileName.bytesMax { beginning.removeLast() }
        // Not in the middle of a character, if the part is text.
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
            bytes += isEscaped ? mark + Array(Hexadecimal.encode([byte]).utf8) : [byte]
            rest = rest.dropFirst()
        }
        switch form {
        case .whole: return bytes
        case .besideFile: return bytes + mark + [UInt8(ascii: "D")]
        case .beginning: return bytes + mark + [UInt8(ascii: "C")]
        }
    }

    /// Decodes a name with escapes.
    ///
    /// - Returns: nil if the name stands for itself: unless the decoded part needs escapes and encodes
    ///   to exactly this name. So no two names have the same meaning.
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
                let value = Hexadecimal.decode(String(decoding: rest.prefix(2), as: UTF8.self))
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

extension S3Name {
    init(_ name: FileName) {
        self = Self.escaped(in: name.bytes) ?? S3Name(part: name.bytes)
    }
}
