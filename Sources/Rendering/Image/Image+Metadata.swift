import CVips
import Filters

extension Image {
    func integer(_ name: String) -> Int? {
        var value: Int32 = 0
        guard vips_image_get_typeof(pointer, name) != 0,
            vips_image_get_int(pointer, name, &value) == 0
        else { return nil }
        return Int(value)
    }

    func text(_ name: String) -> String? {
        var value: UnsafePointer<CChar>?
        guard vips_image_get_typeof(pointer, name) != 0,
            vips_image_get_string(pointer, name, &value) == 0, let value
        else { return nil }
        return String(cString: value)
    }

    func blob(_ name: String) -> [UInt8]? {
        var value: UnsafeRawPointer?
        var count = 0
        guard vips_image_get_typeof(pointer, name) != 0,
            vips_image_get_blob(pointer, name, &value, &count) == 0, let value
        else { return nil }
        return Array(UnsafeRawBufferPointer(start: value, count: count))
    }

    /// The embedded ICC profile.
    var profile: [UInt8]? { blob(VIPS_META_ICC_NAME) }

    /// Returns the same pixels with no metadata except the profile and the given XMP.
    func keepingOnlyProfile(xmp: [UInt8]?) throws(ImageError) -> Image {
        let copy = try interpreted(as: interpretation)
        for name in copy.fieldNames where name != VIPS_META_ICC_NAME {
            vips_image_remove(copy.pointer, name)
        }
        if let xmp {
            copy.setBlob(VIPS_META_XMP_NAME, to: xmp)
        }
        return copy
    }

    /// Only for images without other references: libvips modifies the image itself.
    func setBlob(_ name: String, to value: [UInt8]) {
        vips_image_set_blob_copy(pointer, name, value, value.count)
    }

    private var fieldNames: [String] {
        guard let fields = vips_image_get_fields(pointer) else { return [] }
        defer { g_strfreev(fields) }
        var names: [String] = []
        var index = 0
        while let name = fields[index] {
            names.append(String(cString: name))
            index += 1
        }
        return names
    }
}
