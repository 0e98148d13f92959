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
        guard isNew.withLock(\.self), let directory = try? Descriptor(directory: path) else {
            return
        }
        try? Self.removeFiles(in: directory) {}
        if isMade { rmdir(path) }
    }

    /// The end of the name of a directory that is being removed.
    package static let removalSuffix = ".forgotten"

    /// Whether its lock was ever written by a mount or a check, as that of each state is.
    package static func isState(_ path: String) -> Bool {
        guard let directory = try? Descriptor(directory: path),
            let lock = try? Descriptor(opening: "lock", in: directory, flags: O_RDONLY)
        else { return false }
        return Holder(readFrom: lock) != nil
    }

    /// Returns a file or directory that does not belong to a state; nil if there is none.
    package func foreignName() throws(StateDirectoryError) -> String? {
        try reporting { () throws(SystemError) in
            try TreeRemoval.names(in: Descriptor(directory: path))
                .map { String(decoding: $0, as: UTF8.self) }
                .filter { !StateFiles.isOurs($0) }.min()
        }
    }

    /// Removes the directory, which holds nothing else than a state and is held by this object.
    ///
    /// It first gets the suffix ``removalSuffix``, which survives a power cut before anything is
    /// removed: an interrupted removal leaves either the whole state, or a directory with that name.
    ///
    /// - Parameter removed: Called after each file, with the number of files so far.
    package func remove(removed: @escaping (_ files: Int) -> Void) throws(StateDirectoryError) {
        try reporting { () throws(SystemError) in
            let marked = path.hasSuffix(Self.removalSuffix) ? path : path + Self.removalSuffix
            if marked != path {
                let parent = try Descriptor(directory: "\(path)/..")
                _ = try retryingInterrupts { rename(path, marked) }
                try parent.synchronize()
            }
            var files = 0
            try Self.removeFiles(in: try Descriptor(directory: marked)) {
                files += 1
                removed(files)
            }
            _ = try retryingInterrupts { rmdir(marked) }
        }
    }

    private func reporting<Value>(
        _ step: () throws(SystemError) -> Value
    ) throws(StateDirectoryError) -> Value {
        do {
            return try step()
        } catch {
            throw StateDirectoryError(.system(error.code), path: path)
        }
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
