import Simulation
import Testing

@testable import Engine

@Suite("Texts for people") struct InodeNamingTests {
    @Test func `name items by their paths instead of their numbers`() throws {
        try Scenario.run { remote in
            try remote.otherClientMakesDirectory(Scenario.key("d"))
            try remote.otherClientWrites(Scenario.key("d/a b"), [1])
        } _: { it in
            let inode = try await it.find("d/a b")
            let naming = InodeNaming(it.engine)
            #expect(naming.text("open inode \(inode): denied") == "open \"d/a b\": denied")
            #expect(
                naming.text("move inode \(inode) to inode 1")
                    == "move \"d/a b\" to the mount point")
            for text in ["", "no number: inode ", "inodes kept", "inode x"] {
                #expect(naming.text(text) == text)
            }
            #expect(naming.text("use inode 4711") == "use a removed item (inode 4711)")
        }
    }
}
