import Engine
import Glibc

/// A directory entry as a request names it.
enum RequestedName: Equatable {
    /// `.`
    case itself
    /// `..`
    case parent
    case name(FileName)
    /// A name that no file can have, and the errno to answer.
    case impossible(CInt)

    /// - Parameter text: Copied; only needs to live during the call.
    init(_ text: UnsafePointer<CChar>) {
        let bytes = [UInt8](cString: text)
        switch bytes {
        case [0x2E]: self = .itself
        case [0x2E, 0x2E]: self = .parent
        default:
            if let name = FileName(bytes) {
                self = .name(name)
            } else {
                self = .impossible(bytes.count > FileName.bytesMax ? ENAMETOOLONG : EINVAL)
            }
        }
    }
}

extension [UInt8] {
    /// The bytes of a C string without its NUL.
    init(cString text: UnsafePointer<CChar>) {
        self.init(UnsafeRawBufferPointer(start: text, count: strlen(text)))
    }
}
