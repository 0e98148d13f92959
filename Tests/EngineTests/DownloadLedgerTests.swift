import Testing

@testable import Engine

@Suite struct DownloadLedgerTests {
    private func inode(_ number: Int64) -> InodeNumber { InodeNumber(rawValue: number) }

    @Test func `bytes are told by program and file`() {
        var ledger = DownloadLedger()
        ledger.note(1, of: inode(5), for: "a", at: .seconds(1))
        ledger.note(2, of: inode(5), for: "a", at: .seconds(400))
        ledger.note(4, of: inode(6), for: "a", at: .seconds(400))
        ledger.note(8, of: inode(5), for: "b", at: .seconds(400))
        #expect(
            ledger.files(at: .seconds(401)) == [
                "a": [inode(5): 3, inode(6): 4], "b": [inode(5): 8],
            ])
    }

    @Test func `the last program that opens a file is remembered`() {
        var ledger = DownloadLedger()
        #expect(ledger.opener(of: inode(5)) == DownloadLedger.unknown)
        ledger.noteOpen(of: inode(5), by: "a")
        ledger.noteOpen(of: inode(5), by: "b")
        for number in 0..<5_000 { ledger.noteOpen(of: inode(Int64(1_000 + number)), by: "c") }
        #expect(ledger.opener(of: inode(5)) == "b")
        for number in 0..<5_000 { ledger.noteOpen(of: inode(Int64(1_000 + number)), by: "c") }
        #expect(ledger.opener(of: inode(5)) == DownloadLedger.unknown, "memory is bounded")
    }

    @Test func `bytes of an hour ago do not count`() {
        var ledger = DownloadLedger()
        ledger.note(1, of: inode(5), for: "a", at: .seconds(299))
        ledger.note(2, of: inode(5), for: "a", at: .seconds(300))
        #expect(ledger.files(at: .seconds(3_599)) == ["a": [inode(5): 3]])
        #expect(ledger.files(at: .seconds(3_600)) == ["a": [inode(5): 2]])
        #expect(ledger.files(at: .seconds(3_900)) == [:])
        ledger.note(4, of: inode(5), for: "b", at: .seconds(9_000))
        #expect(ledger.files(at: .seconds(9_000)) == ["b": [inode(5): 4]])
    }

    @Test func `many programs and files are told together`() {
        var ledger = DownloadLedger()
        for number in 0..<(2 * DownloadLedger.programsMax) {
            ledger.note(1, of: inode(Int64(number)), for: "\(number)", at: .zero)
        }
        let programs = ledger.files(at: .zero)
        #expect(programs.count == DownloadLedger.programsMax + 1)
        #expect(programs[DownloadLedger.others]?.count == DownloadLedger.programsMax)
        for number in 0..<(2 * DownloadLedger.filesMax) {
            ledger.note(1, of: inode(Int64(1_000 + number)), for: "0", at: .seconds(300))
        }
        let files = ledger.files(at: .seconds(300))["0"]
        #expect(files?[nil] == UInt64(DownloadLedger.filesMax))
        #expect(files?.values.reduce(0, +) == UInt64(1 + 2 * DownloadLedger.filesMax))
        // Also a program that comes later has some, though not more.
        for number in 0..<100 as Range<Int64> {
            ledger.note(1, of: inode(number), for: "later", at: .seconds(300))
        }
        let later = ledger.files(at: .seconds(300))["later"]
        #expect(later?.count == DownloadLedger.programFilesMin + 1)
        #expect(later?[nil] == UInt64(100 - DownloadLedger.programFilesMin))
    }
}
