import CVips
import Foundation
import Testing

@testable import Filters
@testable import Rendering

struct ReplacementTests {
    @Test func `a dropped replacement leaves the original and nothing else`() throws {
        let place = try Workplace()
        let file = RawPath(try place.add("a.jpg", [1, 2, 3]).path)
        let identity = try #require(FileIdentity(at: file))
        do {
            let replacement = try Replacement(of: file, identity: identity)
            try replacement.write([4, 5])
            #expect(try place.names().count == 2)
        }
        #expect(try place.names() == ["a.jpg"])
        #expect(try place.bytes("a.jpg") == [1, 2, 3])
    }

    @Test func `a file that changed meanwhile is not overwritten`() throws {
        let place = try Workplace()
        let file = RawPath(try place.add("a.jpg", [1, 2, 3]).path)
        let identity = try #require(FileIdentity(at: file))
        let replacement = try Replacement(of: file, identity: identity)
        try replacement.write([4, 5])
        try place.add("a.jpg", [1, 2, 3, 4])
        do {
            try replacement.commit()
            Issue.record("replaced another program's change")
        } catch {
            #expect(error.reason.contains("changed"))
        }
        #expect(try place.names() == ["a.jpg"])
        #expect(try place.bytes("a.jpg") == [1, 2, 3, 4])
    }

    @Test func `a committed replacement is the file`() throws {
        let place = try Workplace()
        let file = RawPath(try place.add("a.jpg", [1, 2, 3]).path)
        let identity = try #require(FileIdentity(at: file))
        let replacement = try Replacement(of: file, identity: identity)
        try replacement.write([4, 5])
        try replacement.commit()
        #expect(try place.names() == ["a.jpg"])
        #expect(try place.bytes("a.jpg") == [4, 5])
    }
}

func setAttribute(_ name: String, _ value: String, on file: URL) -> Bool {
    setxattr(file.path, name, value, value.utf8.count, 0) == 0
}

func attribute(_ name: String, on file: URL) -> String? {
    var buffer = [UInt8](repeating: 0, count: 256)
    let count = getxattr(file.path, name, &buffer, buffer.count)
    return count < 0 ? nil : String(decoding: buffer.prefix(count), as: UTF8.self)
}
