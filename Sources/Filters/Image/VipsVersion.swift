import CVips

/// The version of libvips, such as `8.14.1`.
package enum VipsVersion {
    package static var text: String { String(cString: vips_version_string()) }
}
