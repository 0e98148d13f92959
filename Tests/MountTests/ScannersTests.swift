import Testing

@testable import Mount

@Suite("Programs that scan") struct ScannersTests {
    @Test(arguments: [
        "python3.11 /usr/bin/own file", "python3 -u own", "python3 -W ignore -Xdev own -c",
        "python3 -m own", "python3 -um own -c", "python3 -Imown x", "python3 -- own",
        "bash ./own", "bash -eu -o pipefail own", "bash -euo pipefail own", "bash +O extglob own",
        "bash --rcfile /etc/profile own", "bash --norc own -c", "dash /usr/bin/own",
        "perl -w -I lib own", "perl -Ilib -Mstrict=refs own -e", "ruby -r set -W0 own",
        "node --require ./a own", "node --require=./a own -e", "node --trace-warnings own",
        "gjs -I lib -m own", "gjs --include-path=lib own",
    ])
    func `are scripts and modules with their names`(command: String) throws {
        #expect(try script(of: command) == "own")
    }

    @Test(arguments: [
        "", "python3", "python3 -c print() own", "python3 -Ic print() own", "python3 - own",
        "python3 -c", "python3 -m", "python3 other own", "bash -c own", "bash -lc own",
        "bash -c /bin/own own", "bash -s own", "bash -oc pipefail own", "dash -c own",
        "perl -e own own", "perl -wne print own", "ruby -e own own", "node -e own",
        "node --eval own own", "node -pe own own", "gjs -c own own", "python3 --",
    ])
    func `are not others that mention them`(command: String) throws {
        #expect(try script(of: command) != "own")
    }

    @Test func `are not arguments after an empty one`() throws {
        let interpreter = try #require(Interpreter.named("python3"))
        #expect(RunningProgram.script(of: interpreter, in: "python3\0-c\0\0own\0") == nil)
    }

    /// The name of the script in a command line with blanks.
    private func script(of command: String) throws -> String? {
        let words = command.split(separator: " ")
        let interpreter = try #require(Interpreter.named(words.first.map(String.init) ?? "bash"))
        return RunningProgram.script(
            of: interpreter, in: words.map { "\($0)\0" }.joined())
    }

    @Test func `do not include other programs, or none`() {
        #expect(!Scanners().contain(1))
        #expect(!Scanners().contain(0))
    }
}
