import Engine

/// A set of inodes, with a bit for each: they are numbered in the order of their creation. In pages, as the
/// numbers of those in use are high in a mount that has had many.
struct InodeSet: ExpressibleByArrayLiteral {
    private static let bitsPerWord = UInt64(UInt64.bitWidth)
    private static let wordsPerPage: UInt64 = 64

    /// By the number of the first inode divided by that of inodes in a page.
    private var pages: [UInt64: [UInt64]] = [:]

    init(arrayLiteral inodes: InodeNumber...) {
        for inode in inodes { insert(inode) }
    }

    mutating func insert(_ inode: InodeNumber) {
        let (page, word, bit) = Self.place(of: inode)
        pages[page, default: Array(repeating: 0, count: Int(Self.wordsPerPage))][word] |= bit
    }

    func contains(_ inode: InodeNumber) -> Bool {
        let (page, word, bit) = Self.place(of: inode)
        return pages[page].map { $0[word] & bit != 0 } ?? false
    }

    private static func place(
        of inode: InodeNumber
    ) -> (page: UInt64, word: Int, bit: UInt64) {
        let (word, bit) = UInt64(inode.rawValue).quotientAndRemainder(dividingBy: bitsPerWord)
        let (page, wordOfPage) = word.quotientAndRemainder(dividingBy: wordsPerPage)
        return (page, Int(wordOfPage), 1 << bit)
    }
}
