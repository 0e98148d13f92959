import Filters
import Foundation
import SystemCalls

/// The program that decodes pictures for `apus apply`. It is one of its own, so that no other process
/// loads the decoders and their hundred libraries.
enum ImageWorkerLocation {
    private static let name = "apus-image-worker"

    /// - Throws: `CommandFailure`.
    static func program(within limits: PictureLimits) throws -> WorkerProgram {
        guard let path = path(besides: "/proc/self/exe") else {
            throw CommandFailure(
                what: "cannot filter pictures", why: "the program \(name) is missing",
                remedy: "install Apus again, or leave \(name) in the directory of apus")
        }
        do throws(SystemError) {
            return try WorkerProgram(
                path: path, name: name, memoryBytesMax: limits.memoryBytesMax)
        } catch {
            throw CommandFailure(
                what: "cannot confine the processes that decode pictures", why: "\(error)")
        }
    }

    /// The worker in the directory of a program, as it is built, or in `../libexec/apus` (FHS 3.0, section
    /// 4.7), as it is installed; nil if there is none.
    static func path(besides program: String) -> String? {
        let directory = URL(filePath: program).resolvingSymlinksInPath().deletingLastPathComponent()
        let places = [directory, directory.appending(path: "../libexec/apus").standardized]
        return places.map { $0.appending(path: name).path(percentEncoded: false) }
            .first(where: FileManager.default.isExecutableFile)
    }
}
