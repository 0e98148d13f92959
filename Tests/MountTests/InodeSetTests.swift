import Engine
import Testing

@testable import Mount

struct InodeSetTests {
    @Test
    func `it contains the inodes that were inserted and no others`() {
        let numbers: Set<Int64> = [1, 63, 64, 65, 4095, 4096, 4097, 1 << 20, .max]
        var inodes: InodeSet = []
        for number in numbers { inodes.insert(InodeNumber(rawValue: number)) }
        let others: [Int64] = [(1 << 20) - 1, 1 << 20, (1 << 20) + 1, .max - 1, .max]
        for number in Array(1...10_000) + others {
            let inode = InodeNumber(rawValue: number)
            #expect(inodes.contains(inode) == numbers.contains(number), "\(number)")
        }
    }
}
