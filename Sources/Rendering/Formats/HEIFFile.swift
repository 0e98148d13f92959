import Filters

/// The items of a HEIF file (ISO/IEC 23008-12) that hold metadata.
///
/// libvips writes the picture, the profile and XMP. It rewrites EXIF and loses unknown fields, so
/// the original's EXIF item replaces the one that libvips writes.
struct HEIFFile {
    private struct Location {
        /// The origin of the offsets: 0 is the start of the file, 1 the `idat` box.
        var method: Int
        var extents: [(offset: Int, count: Int)]
        /// Offset, within the table, of a single extent's offset and length.
        var field: Int
        var baseField: Int
    }

    private struct Item {
        let id: Int
        let type: String
        let contentType: String
    }

    private let reader: ByteReader
    private var items: [Item] = []
    private var locations: [Int: Location] = [:]
    private var locationSizes = (offset: 0, length: 0, base: 0)
    private var inlineData: Range<Int>?
    /// Whether the file's properties rotate or mirror the picture, as libvips then does.
    private(set) var isTurned = false
    /// ISO/IEC 14496-15, `chromaFormat` of the decoder's configuration: 1 is 4:2:0, 3 is 4:4:4.
    private(set) var chromaFormat: Int?

    /// - Parameter bytes: The file; must outlive this value.
    /// - Throws: `.damaged` if there is no table of items.
    init(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
        reader = ByteReader(bytes: bytes)
        guard let meta = Self.boxes(reader, 0..<bytes.count).first(where: { $0.type == "meta" })
        else { throw ImageError(.damaged, "HEIF: no table of items") }
        for box in Self.boxes(reader, meta.body.dropFirst(4)) {
            switch box.type {
            case "iinf": readItems(box.body)
            case "iloc": readLocations(box.body)
            case "idat": inlineData = box.body
            case "iprp": readProperties(box.body)
            default: break
            }
        }
    }

    /// The content of the EXIF item: four bytes that tell where EXIF begins after them, then EXIF.
    var exif: [UInt8]? {
        items.first { $0.type == "Exif" }.flatMap { content(of: $0.id) }
    }

    var xmp: [UInt8]? {
        items.first { $0.type == "mime" && $0.contentType == "application/rdf+xml" }
            .flatMap { content(of: $0.id) }
    }

    /// Returns the file with new content of the EXIF item, stored at the end.
    ///
    /// - Returns: nil if the file has no such item, or locates it in another way than libheif does.
    func replacingExif(with exif: [UInt8]) -> [UInt8]? {
        guard let item = items.first(where: { $0.type == "Exif" }),
            let location = locations[item.id], location.method == 0,
            location.extents.count == 1, locationSizes.offset == 4, locationSizes.length == 4
        else { return nil }
        // libheif writes its data box last. The item is added to this box, because some readers
        // fail if there are two.
        guard let data = Self.boxes(reader, 0..<reader.count).last, data.type == "mdat",
            data.body.upperBound == reader.count
        else { return nil }
        let header = 8
        let sizeField = data.body.lowerBound - header
        guard reader.integer(sizeField, size: 4) == data.body.count + header else { return nil }
        var result = Array(reader.bytes)
        let offset = result.count
        result += exif
        result.set(integer: result.count - sizeField, at: sizeField, size: 4)
        result.set(integer: 0, at: location.baseField, size: locationSizes.base)
        result.set(integer: offset, at: location.field, size: 4)
        result.set(integer: exif.count, at: location.field + 4, size: 4)
        return result
    }

    /// Offset of the byte-order mark in the content of an EXIF item.
    static func exifBase(of exif: [UInt8]) -> Int {
        4 + (exif.withUnsafeBytes { ByteReader(bytes: $0).integer(0, size: 4) } ?? 0)
    }

    /// Sets the orientation in the content of an EXIF item to upright, for pixels already rotated.
    static func makeUpright(_ exif: inout [UInt8]) {
        let base = exifBase(of: exif)
        let place = exif.withUnsafeBytes { raw in
            let fields = TIFFFields(raw, base: base)
            return fields.first?.fields[TIFFDirectory.Tag.orientation]
                .map { (offset: $0.valueOffset, isBigEndian: fields.isBigEndian) }
        }
        if let place {
            exif.set(integer: 1, at: place.offset, size: 2, isBigEndian: place.isBigEndian)
        }
    }

    private func content(of id: Int) -> [UInt8]? {
        guard let location = locations[id] else { return nil }
        let base: Int
        switch location.method {
        case 0: base = 0
        case 1:
            guard let inlineData else { return nil }
            base = inlineData.lowerBound
        default: return nil
        }
        var result: [UInt8] = []
        for extent in location.extents {
            guard let bytes = reader.slice(base + extent.offset, count: extent.count) else {
                return nil
            }
            result += bytes
        }
        return result
    }

    private mutating func readItems(_ body: Range<Int>) {
        let countBytes = reader.byte(body.lowerBound) == 0 ? 2 : 4
        for box in Self.boxes(reader, body.dropFirst(4 + countBytes)) where box.type == "infe" {
            let start = box.body.lowerBound
            guard let version = reader.byte(start), version >= 2 else { continue }
            let idBytes = version == 2 ? 2 : 4
            let typeStart = start + 4 + idBytes + 2
            guard let id = reader.integer(start + 4, size: idBytes),
                let type = reader.text(typeStart, count: 4)
            else { continue }
            let names = reader.slice(
                typeStart + 4, count: max(box.body.upperBound - typeStart - 4, 0))
            // A name, then the content type, each ended by 0.
            let parts = (names ?? []).split(separator: 0, omittingEmptySubsequences: false)
            let contentType = parts.count > 1 ? String(decoding: parts[1], as: UTF8.self) : ""
            items.append(Item(id: id, type: type, contentType: contentType))
        }
    }

    private mutating func readLocations(_ body: Range<Int>) {
        let start = body.lowerBound
        guard let version = reader.byte(start), let sizes = reader.integer(start + 4, size: 2)
        else { return }
        let offsetBytes = sizes >> 12, lengthBytes = sizes >> 8 & 15, baseBytes = sizes >> 4 & 15
        let indexBytes = version == 0 ? 0 : sizes & 15
        let idBytes = version < 2 ? 2 : 4
        locationSizes = (offsetBytes, lengthBytes, baseBytes)
        guard let itemCount = reader.integer(start + 6, size: idBytes) else { return }
        var cursor = start + 6 + idBytes
        for _ in 0..<itemCount {
            guard let id = reader.integer(cursor, size: idBytes) else { return }
            cursor += idBytes
            var method = 0
            if version > 0 {
                method = (reader.integer(cursor, size: 2) ?? 0) & 15
                cursor += 2
            }
            let baseField = cursor + 2
            guard let base = reader.integer(baseField, size: baseBytes),
                let extentCount = reader.integer(baseField + baseBytes, size: 2)
            else { return }
            cursor = baseField + baseBytes + 2
            var location = Location(
                method: method, extents: [], field: cursor + indexBytes, baseField: baseField)
            for _ in 0..<extentCount {
                cursor += indexBytes
                guard let offset = reader.integer(cursor, size: offsetBytes),
                    let length = reader.integer(cursor + offsetBytes, size: lengthBytes)
                else { return }
                location.extents.append((base + offset, length))
                cursor += offsetBytes + lengthBytes
            }
            locations[id] = location
        }
    }

    private mutating func readProperties(_ body: Range<Int>) {
        guard let container = Self.boxes(reader, body).first(where: { $0.type == "ipco" }) else {
            return
        }
        for box in Self.boxes(reader, container.body) {
            switch box.type {
            case "irot": isTurned = isTurned || (reader.byte(box.body.lowerBound) ?? 0) & 3 != 0
            case "imir": isTurned = true
            case "hvcC" where chromaFormat == nil:
                chromaFormat = reader.byte(box.body.lowerBound + 16).map { Int($0 & 3) }
            default: break
            }
        }
    }

    /// Returns the boxes in a range, up to the first that exceeds it.
    private static func boxes(
        _ reader: ByteReader, _ range: Range<Int>
    ) -> [(type: String, body: Range<Int>)] {
        var result: [(type: String, body: Range<Int>)] = []
        var offset = range.lowerBound
        while let short = reader.integer(offset, size: 4),
            let type = reader.text(offset + 4, count: 4), offset < range.upperBound
        {
            let header = short == 1 ? 16 : 8
            let size =
                switch short {
                case 0: range.upperBound - offset
                case 1: reader.integer(offset + 8, size: 8) ?? 0
                default: short
                }
            guard size >= header, size <= range.upperBound - offset else { break }
            result.append((type, offset + header..<offset + size))
            offset += size
        }
        return result
    }
}
