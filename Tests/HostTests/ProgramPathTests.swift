import Glibc
import SystemCalls
import Testing

@Suite("The path of a program") struct ProgramPathTests {
    @Test func `is the first one that can be run`() throws {
        let directory = try TemporaryDirectory()
        for name in ["a", "b", "c", "d"] {
            try #require(mkdir("\(directory.path)/\(name)", 0o755) == 0)
        }
        // A directory, and a file that is not executable, are passed.
        try #require(mkdir("\(directory.path)/a/tool", 0o755) == 0)
        for (name, mode) in [("b", mode_t(0o644)), ("c", 0o755), ("d", 0o755)] {
            let file = open("\(directory.path)/\(name)/tool", O_WRONLY | O_CREAT, mode)
            try #require(file >= 0)
            close(file)
        }
        let path = ["a", "b", "c", "d"].map { "\(directory.path)/\($0)" }.joined(separator: ":")
        #expect(ProgramPath.find("tool", in: path) == "\(directory.path)/c/tool")
        #expect(ProgramPath.find("other", in: path) == nil)
    }

    @Test func `is in no relative directory`() {
        #expect(ProgramPath.find("sh", in: ".:bin:../bin:../../bin:/bin") == "/bin/sh")
        #expect(ProgramPath.find("sh", in: "") == nil)
    }
}
