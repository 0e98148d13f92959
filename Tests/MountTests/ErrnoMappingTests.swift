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
    func `no failure makes the kernel believe that an operation does not exist`() {
        // ENOSYS is remembered for the whole mount.
        #expect(EngineError.Kind.allCases.allSatisfy { $0.errno != ENOSYS })
    }

    @Test
    func `what programs meet every day is not logged`() {
        for kind in [EngineError.Kind.notFound, .exists, .notEmpty, .noAttribute, .interrupted] {
            #expect(kind.logLevel == nil)
        }
    }
}
