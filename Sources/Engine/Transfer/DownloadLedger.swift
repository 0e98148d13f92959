/// The bytes of files that programs have had fetched in the last hour, by program. Has no clock: time is
/// an argument. Its memory is bounded.
struct DownloadLedger {
    /// The bytes by file; nil stands for files that were too many to tell apart.
    typealias Files = [InodeNumber?: UInt64]

    fileprivate struct Span {
        let number: Int
        var files: [String: Files] = [:]
        var fileCount = 0
    }

    /// The hour moves on by spans of five minutes.
    private static let span: Duration = .seconds(300)
    private static let spansMax = 12
    /// How many programs and files are told apart in a span.
    static let programsMax = 100
    static let filesMax = 1_000
    /// How many are told apart of each program, also beyond that number.
    static let programFilesMin = 10
    /// Stands for programs that were too many to tell apart.
    static let others = "other programs"
    /// Stands for the daemon's own work: pins, `apus download`, and bytes that a change needs.
    static let daemon = "apus"
    /// Stands for programs that the system does not tell of.
    static let unknown = "unknown"

    private var spans: [Span] = []
    /// The last program that has opened each file, and those of some time ago.
    private var openers: [InodeNumber: String] = [:]
    private var formerOpeners: [InodeNumber: String] = [:]
    private static let openersMax = 4_096

    /// Records that a program opens a file of which bytes are missing.
    mutating func noteOpen(of inode: InodeNumber, by program: String) {
        if openers.count == Self.openersMax { (openers, formerOpeners) = ([:], openers) }
        openers[inode] = program
    }

    /// Returns the program for which bytes of a file are fetched.
    func opener(of inode: InodeNumber) -> String {
        openers[inode] ?? formerOpeners[inode] ?? Self.unknown
    }

    /// Records bytes that have arrived.
    mutating func note(
        _ bytes: UInt64, of inode: InodeNumber, for program: String, at now: Duration
    ) {
        let number = Int(now / Self.span)
        if spans.last.map({ $0.number < number }) ?? true { spans.append(Span(number: number)) }
        spans.removeAll { $0.number + Self.spansMax <= number }
        spans[spans.count - 1].add(bytes, inode, program)
    }

    /// Returns the bytes by program and file.
    func files(at now: Duration) -> [String: Files] {
        let number = Int(now / Self.span)
        var sums: [String: Files] = [:]
        for span in spans where span.number + Self.spansMax > number {
            for (program, files) in span.files {
                sums[program, default: [:]].merge(files, uniquingKeysWith: +)
            }
        }
        return sums
    }
}

extension DownloadLedger.Span {
    fileprivate mutating func add(_ bytes: UInt64, _ inode: InodeNumber, _ program: String) {
        let isTold = files[program] != nil || files.count < DownloadLedger.programsMax
        let program = isTold ? program : DownloadLedger.others
        var file: InodeNumber? = inode
        if files[program]?[inode] == nil {
            let isFew = files[program, default: [:]].count < DownloadLedger.programFilesMin
            if fileCount < DownloadLedger.filesMax || isFew { fileCount += 1 } else { file = nil }
        }
        files[program, default: [:]][file, default: 0] += bytes
    }
}
