import Foundation
import SystemCalls
import Testing

@Suite("The status of a file") struct FileStatusTests {
    private let directory: TemporaryDirectory
    private let file: String

    init() throws {
        directory = try TemporaryDirectory()
        file = "\(directory.path)/file"
        try Data([1, 2, 3]).write(to: URL(filePath: file))
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file)
    }

    @Test func `has its kind, size and permissions`() throws {
        let status = try #require(FileStatus(at: file))
        #expect((status.kind, status.size, status.mode) == (.regular, 3, 0o640))
        #expect(FileStatus(at: directory.path)?.kind == .directory)
        #expect(FileStatus(at: "/dev/null")?.kind == .other)
        #expect(FileStatus(at: "\(file)/none") == nil)
        let descriptor = try Descriptor(opening: file, flags: O_RDONLY)
        #expect(try FileStatus(of: descriptor.rawValue).identity == status.identity)
        #expect(throws: SystemError.self) { try FileStatus(of: -1) }
    }

    @Test func `is that of a link or of its target`() throws {
        let link = "\(directory.path)/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        #expect(FileStatus(at: link)?.identity == FileStatus(at: file)?.identity)
        #expect(FileStatus(at: link, followsLink: false)?.kind == .symbolicLink)
        #expect(FileStatus(at: directory.path)?.identity != FileStatus(at: file)?.identity)
    }
}
