/// The parts of a JPEG file (ITU-T T.81, annex B), found without decoding the picture.
///
/// libvips makes the new picture; everything else, EXIF with its maker notes first, is taken over
/// from the original byte for byte, because libvips would write EXIF anew and lose what it does
/// not know.
///
/// Thumbnails and previews in there stay as they were, too: in the original's colours.
struct JPEGFile {
    struct Segment {
        let marker: UInt8
        /// The whole segment with its marker and length.
        let bytes: [UInt8]

        /// What follows the length.
        var payload: ArraySlice<UInt8> { bytes.dropFirst(4) }
    }

    enum ChromaSubsampling {
        /// The file is grey, or has as many chroma samples as pixels.
        case none
        /// A quarter as many: 4:2:0.
        case quarter
        /// Others, such as 4:2:2.
        case other
    }

    /// The segments from the start to the first scan, which is not among them.
    private(set) var head: [Segment] = []
    /// Where the first scan begins and where the picture's end marker ends.
    let picture: Range<Int>
    private let bytes: UnsafeRawBufferPointer

    /// - Parameter bytes: The file; they must outlive this value.
    /// - Throws: `.damaged` where the structure leads outside of the file.
    init(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
        self.bytes = bytes
        let reader = ByteReader(bytes: bytes)
        var offset = 2
        while true {
            // Any number of fill bytes may stand before a marker.
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

    /// Offset behind the end marker. Within scans a marker's first byte occurs only before 0 and
    /// before restart markers; between scans of a progressive file stand segments.
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

    /// The libjpeg quality, 1 to 100, whose tables are nearest to the file's; nil without tables.
    var quality: Int? {
        JPEGQuality.nearest(
            tables: head.filter { $0.marker == Marker.quantisation }.map { Array($0.payload) })
    }

    /// Payloads of the quantisation segments in an abbreviated stream, which has no scan.
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

    /// Puts a new picture in place of the old one.
    ///
    /// - Parameters:
    ///   - new: A JPEG file as libvips writes it, without metadata.
    ///   - profile: nil keeps the original's profile; else the one that fits the new picture.
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

    /// Where one of the head's segments begins in the file.
    private func offset(of segment: Segment) -> Int {
        var end = picture.lowerBound
        for candidate in head.reversed() {
            let start = end - candidate.bytes.count
            if candidate.marker == segment.marker, candidate.bytes == segment.bytes { return start }
            end = start
        }
        return end
    }

    /// Everything of `new` but its start marker and its JFIF header: the original's, if it has
    /// one, stays.
    private static func appendPicture(
        of new: [UInt8], to result: inout [UInt8]
    ) throws(ImageError) {
        let assembled = new.withUnsafeBytes { raw in
            Result { () throws(ImageError) in
                let file = try JPEGFile(raw)
                var bytes: [UInt8] = []
                for segment in file.head
                where segment.marker != Marker.application0 && !segment.isAdobeOfYCbCr {
                    bytes += segment.bytes
                }
                bytes += raw[file.picture]
                return bytes
            }
        }
        result += try assembled.get()
    }

    /// ICC.1, annex B.4: a profile in pieces that fit a segment.
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
        /// Adobe's segment tells how colours are coded. New pictures are YCbCr.
        static let application14: UInt8 = 0xEE
        static let application15: UInt8 = 0xEF
        static let comment: UInt8 = 0xFE
    }
}

extension JPEGFile.Segment {
    static let profileName = Array("ICC_PROFILE\0".utf8)

    /// A frame header: SOF0 to SOF15 without the three markers between that are none.
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

    var isProfile: Bool { marker == 0xE2 && payload.starts(with: Self.profileName) }

    var isMultipicture: Bool { marker == 0xE2 && payload.starts(with: "MPF\0".utf8) }
}
