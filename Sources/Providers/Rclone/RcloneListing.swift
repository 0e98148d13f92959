import Engine
import Foundation
import ProviderSupport

/// The items in an answer of `operations/list`, decoded as they are requested, so that memory does
/// not grow with their number.
final class RcloneItems: @unchecked Sendable {  // sound: used by one task at a time
    private static let pieceBytes = 64 << 10

    private let body: SpooledBody
    private var splitter = RcloneListSplitter()
    private var offset = 0
    private var isFinished = false

    init(_ body: SpooledBody) {
        self.body = body
    }

    /// Returns the next items, which may be none; nil after the last ones.
    ///
    /// - Throws: `.corrupt` if the answer is not a complete list.
    func next() throws(ProviderError) -> [RcloneItem]? {
        if isFinished { return nil }
        let piece: [UInt8]
        do {
            piece = try body.bytes(at: offset, max: Self.pieceBytes)
        } catch {
            throw ProviderError(
                .busy, "rclone's answer cannot be read back: \(error)", cause: error)
        }
        offset += piece.count
        isFinished = piece.isEmpty
        do {
            if isFinished {
                _ = try JSONDecoder().decode(RcloneList.self, from: try splitter.frame())
                return []
            }
            guard let items = try splitter.feed(piece) else { return [] }
            return try JSONDecoder().decode([RcloneItem].self, from: items)
        } catch {
            throw ProviderError(.corrupt, "rclone's answer cannot be read", cause: error)
        }
    }
}

/// Splits `{"list":[ITEM,…]}` into its items, without understanding them.
struct RcloneListSplitter {
    struct Malformed: Error {}

    private static let itemBytesMax = 1 << 20
    private static let frameBytesMax = 64 << 10
    /// The number of brackets around an item, its own included.
    private static let itemDepth = 3

    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    /// The part of an item seen so far.
    private var item: [UInt8] = []
    /// All bytes outside of the items, and of the commas between them.
    private var outside: [UInt8] = []

    /// - Returns: The items that end in these bytes, as a JSON list; nil if there is none.
    mutating func feed(_ bytes: [UInt8]) throws -> Data? {
        var items = Data()
        for byte in bytes {
            if isInString {
                add(byte)
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""):
                isInString = true
                add(byte)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                add(byte)
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                add(byte)
                depth -= 1
                guard depth == Self.itemDepth - 1 else { continue }
                items.append(UInt8(ascii: items.isEmpty ? "[" : ","))
                items.append(contentsOf: item)
                item.removeAll(keepingCapacity: true)
            case UInt8(ascii: ",") where depth == Self.itemDepth - 1: break
            default: add(byte)
            }
        }
        guard item.count <= Self.itemBytesMax, outside.count <= Self.frameBytesMax else {
            throw Malformed()
        }
        guard !items.isEmpty else { return nil }
        items.append(UInt8(ascii: "]"))
        return items
    }

    /// Returns the answer without its items, after its last byte.
    func frame() throws -> Data {
        guard item.isEmpty, depth == 0, !isInString else { throw Malformed() }
        return Data(outside)
    }

    private mutating func add(_ byte: UInt8) {
        if depth >= Self.itemDepth {
            item.append(byte)
        } else if !byte.isSpace {
            outside.append(byte)
        }
    }
}

extension UInt8 {
    fileprivate var isSpace: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
}

/// The objects of a listing, page by page.
///
/// Some clouds hold several objects of one name, of which only the newest is shown; none of them is
/// if one is a file of unknown size. So the items are read twice: first only for such names, of
/// which there are few, recognised by 8 bytes for each name.
struct RcloneListing: Sendable {
    private let meaning: RcloneMeaning
    private let items: RcloneItems
    /// The names of files of unknown size.
    let unsized: Set<FileName>
    let isEmpty: Bool
    /// The hashes of names that occur several times, or seem to.
    private let repeatedHashes: Set<Int>
    private var repeated: [FileName: RemoteObject] = [:]
    private var rest: [RemoteObject] = []

    /// - Throws: `.corrupt` if the answer is not a complete list.
    init(_ body: SpooledBody, _ meaning: RcloneMeaning) throws(ProviderError) {
        self.meaning = meaning
        var hashes: [Int] = []
        var unsized: Set<FileName> = []
        var count = 0
        let all = RcloneItems(body)
        while let items = try all.next() {
            count += items.count
            for item in items {
                guard let name = RcloneName.decode(item.name) else { continue }
                if !item.isSized { unsized.insert(name) }
                hashes.append(name.hashValue)
            }
        }
        hashes.sort()
        repeatedHashes = Set(zip(hashes, hashes.dropFirst()).filter { $0 == $1 }.map(\.0))
        self.unsized = unsized
        isEmpty = count == 0
        items = RcloneItems(body)
    }

    /// - Parameter entries: The size of all pages except the last one.
    mutating func page(entries: Int) throws(ProviderError) -> ListingPage {
        var isLast = false
        while rest.count <= entries, !isLast {
            if let items = try items.next() {
                add(items)
            } else {
                isLast = true
                rest += repeated.values
                repeated = [:]
            }
        }
        isLast = isLast && rest.count <= entries
        let page = Array(rest.prefix(entries))
        rest.removeFirst(page.count)
        return ListingPage(objects: page, isLast: isLast, isNextLocal: !isLast)
    }

    private mutating func add(_ items: [RcloneItem]) {
        for item in items {
            guard let name = RcloneName.decode(item.name), !unsized.contains(name),
                let object = meaning.object(item, name: name)
            else { continue }
            if repeatedHashes.contains(name.hashValue) {
                if let other = repeated[name], other.modified >= object.modified { continue }
                repeated[name] = object
            } else {
                rest.append(object)
            }
        }
    }
}
