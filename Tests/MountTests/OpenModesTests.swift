import Simulation
import Testing

@testable import Engine
@testable import Mount

struct OpenModesTests {
    private let file = InodeNumber(rawValue: 7)
    private let other = InodeNumber(rawValue: 8)

    private func loan(_ identifier: Int32) throws -> OpenModes.Loan {
        let file = try SimulatedDisk(seed: 1, clock: SimulatedClock()).open(DiskPath("file"))
        return OpenModes.Loan(
            identifier: identifier, content: ReadableRange(file: file, count: 0))
    }

    @Test
    func `handles of a file share the loan of the first, which ends with the last`() throws {
        var modes = OpenModes()
        #expect(modes.open(file, offering: try loan(1))?.identifier == 1)
        #expect(modes.open(file, offering: try loan(2))?.identifier == 1)
        #expect(modes.open(file, offering: nil)?.identifier == 1)
        #expect(modes.open(other, offering: try loan(3))?.identifier == 3)
        #expect(modes.close(file) == nil)
        #expect(modes.close(file) == nil)
        #expect(modes.isDecided(file))
        #expect(modes.close(file)?.identifier == 1)
        #expect(!modes.isDecided(file))
        #expect(modes.isDecided(other))
    }

    @Test
    func `nothing is lent beside a cached handle`() throws {
        var modes = OpenModes()
        #expect(modes.open(file, offering: nil) == nil)
        #expect(modes.open(file, offering: try loan(1)) == nil)
        #expect(modes.close(file) == nil)
        #expect(modes.open(file, offering: try loan(1)) == nil)
        #expect(modes.close(file) == nil)
        #expect(modes.close(file) == nil)
        #expect(modes.open(file, offering: try loan(4))?.identifier == 4)
    }

    @Test(arguments: [
        ("CapEff:\t000001ffffffffff", true), ("CapEff:\t0000000000200000", true),
        ("CapEff:\t00000000a80425fb", false), ("CapEff:\t0000000000000000", false), ("", false),
    ])
    func `the privilege is read from the effective capabilities`(line: String, isThere: Bool) {
        let status = "Name:\tapus\nCapPrm:\t000001ffffffffff\n\(line)\nCapBnd:\t000001ffffffffff\n"
        #expect(Privileges.administersSystem(status: status) == isThere)
    }
}
