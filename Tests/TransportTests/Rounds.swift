import Foundation

/// Makes threads wait until a group of a certain size is complete.
final class Rounds: @unchecked Sendable {  // sound: the condition guards the count
    private let size: Int
    private let condition = NSCondition()
    private var count = 0

    init(of size: Int) {
        self.size = size
    }

    func wait() {
        condition.lock()
        defer { condition.unlock() }
        let last = (count / size + 1) * size
        count += 1
        condition.broadcast()
        while count < last { condition.wait() }
    }
}
