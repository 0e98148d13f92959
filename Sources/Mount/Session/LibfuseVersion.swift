import CFuse

/// The version of libfuse, such as `3.14.0`.
package enum LibfuseVersion {
    package static var text: String { String(cString: fuse_pkgversion()) }
}
