import Engine
import Glibc
import Testing

@testable import Mount

struct ErrnoMappingTests {
    @Test(arguments: EngineError.Kind.allCases)
    func `every failure has an errno that the kernel accepts`(kind: EngineError.Kind) {
        #expect((1..<1000).contains(kind.errno))
    }

    @Test(arguments: EngineError.Kind.allCases)
    func `only a failing disk and a damaged state are input-output errors`(kind: EngineError.Kind) {
        #expect((kind.errno == EIO) == (kind == .failed || kind == .damaged))
    }

    @Test
    func `no failure makes the kernel treat an operation as missing`() {
        // The kernel remembers ENOSYS as long as the mount lasts.
        #expect(EngineError.Kind.allCases.allSatisfy { $0.errno != ENOSYS })
    }

    @Test
    func `failures of normal use are not logged`() {
        for kind in [EngineError.Kind.notFound, .exists, .notEmpty, .noAttribute, .interrupted] {
            #expect(kind.logLevel == nil)
        }
    }
}
