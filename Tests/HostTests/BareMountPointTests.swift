import CLinux
import Foundation
import Host
import Testing

struct BareMountPointTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        #expect(chmod(directory.path, 0o2751) == 0)
    }

    private func mode() throws -> mode_t {
        var status = stat()
        try #require(stat(directory.path, &status) == 0)
        return status.st_mode & 0o7777
    }

    @Test func `protection is reversible by another process`() throws {
        let bare = try #require(BareMountPoint(directory.path))
        #expect(!bare.isProtected && bare.stateDirectory == nil)
        try #require(bare.protect(stateDirectory: "/state/of mine"))
        #expect(try mode() == 0o2551)
        #expect(throws: CocoaError.self) {
            try Data().write(to: URL(filePath: directory.path + "/file"))
        }
        let later = try #require(BareMountPoint(directory.path))
        #expect(later.isProtected && later.stateDirectory == "/state/of mine")
        later.release()
        #expect(try mode() == 0o2751)
        #expect(!bare.isProtected && bare.stateDirectory == nil)
        #expect(listxattr(directory.path, nil, 0) == 0)
        try Data().write(to: URL(filePath: directory.path + "/file"))
    }

    /// Goal: a mark that cannot be set is noticed, and the directory stays as it is.
    @Test(.enabled(if: geteuid() == 0, "only root can set the flag"))
    func `a directory that cannot be marked stays as it is`() throws {
        let descriptor = open(directory.path, O_RDONLY | O_DIRECTORY)
        defer { close(descriptor) }
        var flags: Int32 = 0
        guard apus_get_inode_flags(descriptor, &flags) == 0,
            apus_set_inode_flags(descriptor, flags | apus_immutable_flag) == 0
        else { return }
        let bare = try #require(BareMountPoint(directory.path))
        #expect(!bare.protect(stateDirectory: "/state"))
        #expect(!bare.isProtected)
        bare.release()
        #expect(throws: CocoaError.self) {
            try Data().write(to: URL(filePath: directory.path + "/file"))
        }
        #expect(apus_set_inode_flags(descriptor, flags) == 0)
    }
}
