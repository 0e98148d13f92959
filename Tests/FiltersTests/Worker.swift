import Foundation

@testable import Filters

extension WorkerProgram {
    /// The `apus` that was built with these tests, as a worker.
    static func ofThisBuild(within limits: PictureLimits = PictureLimits()) throws -> WorkerProgram
    {
        let tests = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        let apus = tests.deletingLastPathComponent().appending(path: "apus")
        return try WorkerProgram(
            path: apus.path(percentEncoded: false), name: "apus-image-worker",
            memoryBytesMax: limits.memoryBytesMax)
    }
}
