import Glibc
import SystemCalls

/// Finds the files below the given paths.
///
/// Links are skipped unless given as a path. So are directories whose names begin with a dot: they
/// hold caches, trash and repositories, whose images must not change. Each directory is listed
/// completely before its files are reported, so that a file replaced during the walk is not found
/// twice.
struct Walk {
    enum Finding {
        /// A file whose name suggests an image.
        case candidate(RawPath, size: Int)
        case passedOver
        case failed(RawPath, reason: String)
    }

    private let visit: (Finding) -> Bool
    private var isStopped = false

    /// - Parameter visit: Called with each finding; returns false to end the walk.
    init(visit: @escaping (Finding) -> Bool) {
        self.visit = visit
    }

    /// - Parameter paths: Files and directories; a path within another one is visited once.
    mutating func run(_ paths: [RawPath]) {
        for root in roots(paths) where !isStopped {
            var status = stat()
            guard root.withCString({ stat($0, &status) }) == 0 else { continue }
            switch status.st_mode & S_IFMT {
            case S_IFDIR: walk(root)
            case S_IFREG: tell(.candidate(root, size: Int(status.st_size)))
            default: tell(.passedOver)
            }
        }
    }

    /// The existing paths that lie within no other path, with links resolved.
    private mutating func roots(_ paths: [RawPath]) -> [RawPath] {
        var found: [(given: RawPath, real: RawPath)] = []
        for path in paths {
            guard let resolved = path.withCString({ realpath($0, nil) }) else {
                tell(.failed(path, reason: "\(SystemError.last)"))
                continue
            }
            defer { free(resolved) }
            let length = strlen(resolved)
            let bytes = UnsafeRawBufferPointer(start: resolved, count: length)
            found.append((path, RawPath(bytes: Array(bytes))))
        }
        found.sort { $0.real.bytes.count < $1.real.bytes.count }
        var kept: [(given: RawPath, real: RawPath)] = []
        for path in found where !kept.contains(where: { path.real.isWithin($0.real) }) {
            kept.append(path)
        }
        return kept.map { root in
            var status = stat()
            let isLink =
                root.given.withCString { lstat($0, &status) } == 0
                && status.st_mode & S_IFMT == S_IFLNK
            return isLink ? root.real : root.given
        }
    }

    private mutating func walk(_ root: RawPath) {
        var pending = [root]
        while !isStopped, let directory = pending.popLast() {
            guard let names = list(directory) else { continue }
            var children: [RawPath] = []
            for name in names where !isStopped {
                let path = directory.appending(name)
                var status = stat()
                guard path.withCString({ lstat($0, &status) }) == 0 else { continue }
                if status.st_mode & S_IFMT == S_IFDIR {
                    if name.first != UInt8(ascii: ".") { children.append(path) }
                } else if !Self.isTemporary(name) {
                    find(path, name: name, status: status)
                }
            }
            pending += children.reversed()
        }
    }

    private mutating func find(_ path: RawPath, name: [UInt8], status: stat) {
        if status.st_mode & S_IFMT == S_IFREG, ImageFormat.isSuggested(byName: name) {
            tell(.candidate(path, size: Int(status.st_size)))
        } else {
            tell(.passedOver)
        }
    }

    private mutating func list(_ directory: RawPath) -> [[UInt8]]? {
        guard let stream = directory.withCString({ opendir($0) }) else {
            tell(.failed(directory, reason: "\(SystemError.last)"))
            return nil
        }
        defer { closedir(stream) }
        var names: [[UInt8]] = []
        errno = 0
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if name != Array(".".utf8), name != Array("..".utf8) { names.append(name) }
            errno = 0
        }
        if errno != 0 {
            tell(.failed(directory, reason: "\(SystemError.last)"))
        }
        return names.sorted { $0.lexicographicallyPrecedes($1) }
    }

    private mutating func tell(_ finding: Finding) {
        if !isStopped { isStopped = !visit(finding) }
    }

    /// Whether a name is that of a temporary file: ours, or one that an editor, browser or file
    /// manager will soon rename or remove.
    static func isTemporary(_ name: [UInt8]) -> Bool {
        let prefixes = [".#", "#", ".~", "~$", ".goutputstream-", ".nfs", ".fuse_hidden", "._"]
        let endings = ["~", ".swp", ".swx", ".tmp", ".part", ".crdownload", ".partial"]
        return name.starts(with: Replacement.namePrefix)
            || prefixes.contains { name.starts(with: $0.utf8) }
            || endings.contains { name.suffix($0.utf8.count).elementsEqual($0.utf8) }
    }
}
