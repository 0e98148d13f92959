import Foundation

@testable import Filters

extension WorkerProgram {
    /// The worker that was built with these tests.
    static func ofThisBuild(within limits: PictureLimits = PictureLimits()) throws -> WorkerProgram
    {
        let tests = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        let worker = tests.deletingLastPathComponent().appending(path: "apus-image-worker")
        return try WorkerProgram(
            path: worker.path(percentEncoded: false), name: "apus-image-worker",
            memoryBytesMax: limits.memoryBytesMax)
    }
}
