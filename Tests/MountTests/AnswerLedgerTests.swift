import Engine
import Testing

@testable import Mount

struct AnswerLedgerTests {
    private let directory = InodeNumber(rawValue: 2)
    private let file = InodeNumber(rawValue: 3)
    private let name = FileName("name")!

    private func name(_ name: FileName) -> AnswerLedger.Item { .name(name, parent: directory) }

    @Test
    func `an answer is invalidated if its state changed after it was read`() {
        var ledger = AnswerLedger()
        ledger.noteChange(of: name(name))
        let begin = ledger.now
        #expect(ledger.noteAnswer([name(name)], since: begin, at: .zero) == [])
        ledger.noteChange(of: name(name))
        #expect(ledger.noteAnswer([name(name)], since: begin, at: .zero) == [name(name)])
        #expect(ledger.noteAnswer([name(name)], since: ledger.now, at: .zero) == [])
    }

    @Test
    func `only those parts of an answer are that may have changed`() {
        var ledger = AnswerLedger()
        let begin = ledger.now
        ledger.noteChange(of: .inode(file))
        let items = [name(name), .attributes(file), .inode(directory)]
        #expect(ledger.noteAnswer(items, since: begin, at: .zero) == [.inode(file)])
        ledger.noteChange(of: .attributes(directory))
        let later = [AnswerLedger.Item.inode(directory), .attributes(directory)]
        #expect(ledger.noteAnswer(later, since: begin, at: .zero) == [.attributes(directory)])
    }

    @Test
    func `a change is for the kernel only if an answer was about its inode`() {
        var ledger = AnswerLedger()
        #expect(ledger.noteChange(of: .attributes(file)) == false)
        #expect(ledger.noteChange(of: name(name)) == false)
        #expect(ledger.noteChange(of: .name(name, parent: .root)) == true)
        _ = ledger.noteAnswer([.attributes(file)], since: ledger.now, at: .zero)
        #expect(ledger.noteChange(of: .attributes(file)) == true)
        #expect(ledger.noteChange(of: .inode(file)) == true)
        #expect(ledger.noteChange(of: name(name)) == false)
        _ = ledger.noteAnswer([.inode(directory)], since: ledger.now, at: .zero)
        #expect(ledger.noteChange(of: name(name)) == true)
    }

    @Test
    func `a change that no answer was about yet is found by the answer under way`() {
        var ledger = AnswerLedger()
        let begin = ledger.now
        #expect(ledger.noteChange(of: .attributes(file)) == false)
        let items = [AnswerLedger.Item.attributes(file)]
        #expect(ledger.noteAnswer(items, since: begin, at: .zero) == items)
    }

    @Test
    func `a change of a directory concerns the names in it`() {
        var ledger = AnswerLedger()
        let begin = ledger.now
        ledger.noteChange(of: .inode(directory))
        #expect(ledger.noteAnswer([name(name)], since: begin, at: .zero) == [name(name)])
        let other = AnswerLedger.Item.name(name, parent: file)
        #expect(ledger.noteAnswer([other], since: begin, at: .zero) == [])
    }

    @Test
    func `a change of attributes leaves names and listings`() {
        var ledger = AnswerLedger()
        let begin = ledger.now
        ledger.noteChange(of: .attributes(directory))
        let items = [name(name), .inode(directory), .attributes(directory)]
        #expect(ledger.noteAnswer(items, since: begin, at: .zero) == [.attributes(directory)])
    }

    /// The kernel enters an answer into its caches some time after it has got it.
    @Test
    func `an answer is recent for a second`() {
        var ledger = AnswerLedger()
        #expect(!ledger.isRecent(name(name), at: .zero))
        _ = ledger.noteAnswer(
            [name(name), .attributes(file)], since: ledger.now, at: .seconds(5))
        for item in [name(name), name(FileName("other")!), .inode(file), .attributes(file)] {
            #expect(ledger.isRecent(item, at: .milliseconds(5_999)))
            #expect(!ledger.isRecent(item, at: .seconds(6)))
        }
        #expect(!ledger.isRecent(.inode(directory), at: .seconds(5)))
    }

    @Test(arguments: [
        ("6.1.0-18-amd64", false, true), ("6.16", true, true), ("6.18.44-x", true, true),
        ("6.19.0-rc1", true, false), ("7.0.1", true, false), ("", false, true),
    ])
    func `kernels differ in how long they may cache`(
        release: String, hasEpochs: Bool, invalidatesAbsences: Bool
    ) {
        let timeouts = CacheTimeouts(KernelRelease(release))
        let unlimited = CacheTimeouts.unlimited
        #expect((timeouts.entries == unlimited) == hasEpochs)
        #expect((timeouts.attributes == unlimited) == hasEpochs)
        #expect((timeouts.negativeEntries > .zero) == invalidatesAbsences)
    }
}
