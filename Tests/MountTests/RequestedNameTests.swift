import Engine
import Glibc
import Testing

@testable import Mount

struct RequestedNameTests {
    @Test
    func `dots are directories, everything else is a name`() {
        #expect(RequestedName(".") == .itself)
        #expect(RequestedName("..") == .parent)
        #expect(RequestedName("...") == .name(FileName("...")!))
        #expect(RequestedName("größer") == .name(FileName("größer")!))
    }

    @Test
    func `a name that no file can have is refused with its errno`() {
        #expect(RequestedName(String(repeating: "x", count: 256)) == .impossible(ENAMETOOLONG))
        #expect(RequestedName("") == .impossible(EINVAL))
    }
}
