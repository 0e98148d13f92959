import Testing

@testable import Mount

@Suite("Programs that scan") struct ScannersTests {
    @Test(arguments: [
        "python3\0/usr/bin/own\0file\0", "python3\0-u\0own\0", "/bin/bash\0./updatedb\0",
    ])
    func `are scripts with their names`(text: String) throws {
        let script = try #require(RunningProgram.script(in: text))
        #expect(["own", "updatedb"].contains(script))
    }

    @Test(arguments: [
        "", "python3\0", "own\0other\0", "python3\0-c\0print()\0own\0", "sh\0/own/x\0",
    ])
    func `are not others that mention them`(text: String) {
        #expect(RunningProgram.script(in: text) != "own")
    }

    @Test func `do not include other programs, or none`() {
        #expect(!Scanners().contain(1))
        #expect(!Scanners().contain(0))
    }
}
