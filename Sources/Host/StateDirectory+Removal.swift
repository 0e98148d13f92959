import Engine
import Glibc
import Synchronization
import SystemCalls

extension StateDirectory {
    /// Keeps a new state, as the start has succeeded.
    package func keep() { isNew.withLock { $0 = false } }

    /// Removes the files of a state that did not exist when this object took the directory, and
    /// also the directory if this object made it. Does nothing after ``keep()``.
    ///
    /// Failures are ignored: the next start continues with what is left.
    package func removeIfNew() {
        guard isNew.withLock(\.self), let directory = try? Descriptor(directory: path) else { return }
        try? Self.removeFiles(in: directory) {}
        if isMade { rmdir(path) }
    }

    /// Removes the files of a state, `lock` last, and no others.
    private static func removeFiles(
        in directory: Descriptor, _ removed: @escaping () -> Void
    ) throws(SystemError) {
        let removal = TreeRemoval(removed: removed)
        let lock = Array("lock".utf8)
        for name in try TreeRemoval.names(in: directory)
        where name != lock && StateFiles.isOurs(String(decoding: name, as: UTF8.self)) {
            try removal.remove(name, in: directory)
        }
        try removal.remove(lock, in: directory)
    }
}
