@testable import Engine

func attributes(
    _ kind: FileKind, inode: Int64 = 42, mode: UInt16 = 0o644, size: UInt64 = 0
) -> Attributes {
    Attributes(
        inode: InodeNumber(rawValue: inode), kind: kind, mode: mode, userID: 1000, groupID: 100,
        links: 1, size: size, modified: Timestamp(seconds: 5), changed: Timestamp(seconds: 6))
}
