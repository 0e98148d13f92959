import Filters

/// The parts of a JPEG file (ITU-T T.81, annex B), located without decoding the picture.
///
/// libvips encodes the new picture. Everything else is copied from the original byte for byte,
/// because libvips rewrites EXIF and loses unknown fields, such as maker notes.
///
/// So previews in maker notes and after the picture keep the original's colours; ``updateExif(_:)``
/// is for the EXIF thumbnail, which file managers show.
struct JPEGFile {
    struct Segment {
        let marker: UInt8
        /// The whole segment with its marker and length.
        fileprivate(set) var bytes: [UInt8]

        /// The bytes after the length.
        var payload: ArraySlice<UInt8> { bytes.dropFirst(4) }
    }

    enum ChromaSubsampling {
        /// The file is greyscale, or has a chroma sample for each pixel (4:4:4).
        case none
        /// 4:2:0.
        case quarter
        /// Another scheme, such as 4:2:2.
        case other
    }

    /// The segments before the first scan.
    private(set) var head: [Segment] = []
    /// From the first scan to the end marker, inclusive.
    let picture: Range<Int>
    private let bytes: UnsafeRawBufferPointer

    /// - Parameter bytes: The file; must outlive this value.
    /// - Throws: `.damaged` if a segment exceeds the file.
    init(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
        self.bytes = bytes
        let reader = ByteReader(bytes: bytes)
        var offset = 2
        while true {
            // Any number of fill bytes may precede a marker.
            while reader.byte(offset) == 0xFF, reader.byte(offset + 1) == 0xFF { offset += 1 }
            guard reader.byte(offset) == 0xFF, let marker = reader.byte(offset + 1),
                let length = reader.integer(offset + 2, size: 2), length >= 2,
                let segment = reader.slice(offset, count: 2 + length)
            else { throw ImageError(.damaged, "JPEG: no picture data") }
            if marker == Marker.startOfScan { break }
            head.append(Segment(marker: marker, bytes: segment))
            offset += segment.count
        }
        guard let end = Self.endOfPicture(in: bytes, from: offset) else {
            throw ImageError(.damaged, "JPEG: the picture data end too early")
        }
        picture = offset..<end
    }

    /// Returns the offset after the end marker.
    ///
    /// Within scans, 0xFF occurs only before 0 and in restart markers; between the scans of a
    /// progressive file, there are segments.
    private static func endOfPicture(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var offset = start
        while offset + 1 < bytes.count {
            guard bytes[offset] == 0xFF else {
                offset += 1
                continue
            }
            switch bytes[offset + 1] {
            case Marker.endOfImage: return offset + 2
            case 0, 0xD0...0xD7: offset += 2
            case 0xFF: offset += 1
            default:
                guard offset + 3 < bytes.count else { return nil }
                offset += 2 + Int(bytes[offset + 2]) << 8 + Int(bytes[offset + 3])
            }
        }
        return nil
    }

    var subsampling: ChromaSubsampling {
        guard let frame = head.first(where: \.isFrame)?.payload.dropFirst(5),
            let componentCount = frame.first
        else { return .other }
        let factors = stride(from: 1, to: 3 * Int(componentCount), by: 3).compactMap {
            frame.dropFirst($0 + 1).first
        }
        if factors.allSatisfy({ $0 == factors[0] }) { return .none }
        return factors.first == 0x22 && factors.dropFirst().allSatisfy { $0 == 0x11 }
            ? .quarter : .other
    }

    /// The libjpeg quality whose tables are nearest to the file's, 1 to 100; nil without tables.
    var quality: Int? {
        JPEGQuality.nearest(
            tables: head.filter { $0.marker == Marker.quantisation }.map { Array($0.payload) })
    }

    /// Returns the payloads of the quantisation segments in a stream of tables, without a scan.
    static func quantisationTables(in stream: [UInt8]) -> [[UInt8]] {
        stream.withUnsafeBytes { raw in
            let reader = ByteReader(bytes: raw)
            var tables: [[UInt8]] = []
            var offset = 2
            while reader.byte(offset) == 0xFF, let marker = reader.byte(offset + 1),
                let length = reader.integer(offset + 2, size: 2), length >= 2,
                let segment = reader.slice(offset + 4, count: length - 2)
            {
                if marker == Marker.quantisation { tables.append(segment) }
                offset += 2 + length
            }
            return tables
        }
    }

    /// Updates the EXIF data.
    ///
    /// - Parameter update: Called with a segment and the offset of EXIF's byte-order mark in it;
    ///   must keep the length.
    mutating func updateExif(_ update: (inout [UInt8], Int) -> Void) {
        for index in head.indices where head[index].isExif {
            update(&head[index].bytes, 4 + Segment.exifName.count)
        }
    }

    /// Returns the file with a new picture.
    ///
    /// - Parameters:
    ///   - new: A JPEG file as libvips writes it, without metadata.
    ///   - profile: The new picture's profile; nil keeps the original's.
    func replacingPicture(
        with new: [UInt8], profile: [UInt8]?
    ) throws(ImageError) -> [UInt8] {
        var result: [UInt8] = [0xFF, Marker.startOfImage]
        result.reserveCapacity(new.count + picture.lowerBound + bytes.count - picture.upperBound)
        var multipicture: Multipicture?
        for segment in head where segment.isMetadata || segment.isAdobeOfYCbCr {
            if segment.isProfile && profile != nil { continue }
            if segment.isMultipicture {
                multipicture = Multipicture(oldOffset: offset(of: segment), newOffset: result.count)
            }
            result += segment.bytes
        }
        if let profile { result += Self.profileSegments(profile) }
        try Self.appendPicture(of: new, to: &result)
        let pictureEnd = result.count
        result += bytes[picture.upperBound...]
        multipicture?.update(&result, oldEnd: picture.upperBound, newEnd: pictureEnd)
        return result
    }

    /// Returns the offset in the file of a segment of ``head``.
    private func offset(of segment: Segment) -> Int {
        var end = picture.lowerBound
        for candidate in head.reversed() {
            let start = end - candidate.bytes.count
            if candidate.marker == segment.marker, candidate.bytes == segment.bytes { return start }
            end = start
        }
        return end
    }

    /// Appends all of `new` except its start marker and its JFIF header; the original's header is
    /// kept.
    private static func appendPicture(
        of new: [UInt8], to result: inout [UInt8]
    ) throws(ImageError) {
        try new.withBytes { (raw) throws(ImageError) in
            let file = try JPEGFile(raw)
            for segment in file.head
            where segment.marker != Marker.application0 && !segment.isAdobeOfYCbCr {
                result += segment.bytes
            }
            result += raw[file.picture]
        }
    }

    /// Splits a profile into segments (ICC.1, annex B.4).
    private static func profileSegments(_ profile: [UInt8]) -> [UInt8] {
        let pieceBytesMax = 65_519
        let pieceCount = (profile.count + pieceBytesMax - 1) / pieceBytesMax
        var result: [UInt8] = []
        for index in 0..<pieceCount {
            let piece = profile.dropFirst(index * pieceBytesMax).prefix(pieceBytesMax)
            result += [0xFF, Marker.application0 + 2]
            result.append(integer: 2 + Segment.profileName.count + 2 + piece.count, size: 2)
            result += Segment.profileName
            result += [UInt8(index + 1), UInt8(pieceCount)]
            result += piece
        }
        return result
    }

    enum Marker {
        static let startOfImage: UInt8 = 0xD8
        static let endOfImage: UInt8 = 0xD9
        static let startOfScan: UInt8 = 0xDA
        static let quantisation: UInt8 = 0xDB
        static let application0: UInt8 = 0xE0
        /// Adobe's segment, which tells the colour encoding; new pictures are YCbCr.
        static let application14: UInt8 = 0xEE
        static let application15: UInt8 = 0xEF
        static let comment: UInt8 = 0xFE
    }
}

extension JPEGFile.Segment {
    static let profileName = Array("ICC_PROFILE\0".utf8)
    static let exifName = Array("Exif\0\0".utf8)

    /// Whether it is a frame header: SOF0 to SOF15, except three markers for other purposes.
    var isFrame: Bool { (0xC0...0xCF).contains(marker) && ![0xC4, 0xC8, 0xCC].contains(marker) }

    var isMetadata: Bool {
        let isApplication =
            (JPEGFile.Marker.application0...JPEGFile.Marker.application15).contains(marker)
            && marker != JPEGFile.Marker.application14
        return isApplication || marker == JPEGFile.Marker.comment
    }

    var isAdobeOfYCbCr: Bool {
        marker == JPEGFile.Marker.application14 && payload.starts(with: "Adobe".utf8)
            && payload.dropFirst(11).first == 1
    }

    var isExif: Bool { marker == 0xE1 && payload.starts(with: Self.exifName) }

    var isProfile: Bool { marker == 0xE2 && payload.starts(with: Self.profileName) }

    var isMultipicture: Bool { marker == 0xE2 && payload.starts(with: "MPF\0".utf8) }
}
