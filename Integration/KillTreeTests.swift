import Foundation
import Testing

extension MountedTests.`A killed daemon` {
    // With nginx a file of an upload that was under way may stay behind, under a name of our own; and
    // rclone stores large files in the same way.
    private static let clouds = CloudKind.chosen.filter {
        ![CloudKind.crypt, .rcloneWebDAV, .nginx, .servedByRclone].contains($0)
    }

    /// Goal: every call that returned is on the disk and reaches the remote, and of one that was
    /// under way there is nothing or (of a write) a part, whatever it was (I1, I6, I7).
    ///
    /// Method: a program makes, overwrites, cuts, moves and removes files and directories under few
    /// names; another kills the daemon at random moments and mounts again. A model has what was
    /// acknowledged, and is compared with the mount after each kill and with both sides in the end.
    @Test(.timeLimit(.minutes(4)), arguments: clouds)
    func `loses no call that returned, whatever was changed and moved`(
        _ cloud: CloudKind
    ) async throws {
        var random = SeededRandom.announced("a killed daemon and a tree on \(cloud)")
        var options = MountedFolder.Options()
        options.source = "latency=10ms&rate=4MiB"
        let steps = 600
        try await cloud.with(options) { folder, contents in
            let killer = Killer(folder, kills: 12, files: steps, random: &random)
            let thread = Thread { killer.run() }
            thread.start()
            var tree = AcknowledgedTree(folder, random: random)
            do {
                for number in 0..<steps {
                    try tree.step()
                    killer.report(done: number + 1)
                }
            } catch {
                killer.stop()
                throw error
            }
            try killer.finish()
            print(
                "a killed daemon and a tree: \(tree.calls) calls returned; of those that did not, "
                    + "\(tree.happened) had happened and \(tree.lost) had not")

            try folder.killDaemon()
            try folder.remount()
            let local = try TreeContents(of: folder.point)
            #expect(tree.expected.differences(from: local) == [], "the model against the mount")
            // Whatever the guard against deletions in bulk makes of this.
            _ = try Apus.run("confirm-deletions", folder.point)
            // A store may keep the locks of the dead for a minute.
            let sync = try Apus.run("sync", folder.point, limitSeconds: 150)
            try #require(sync.status == 0, "\(sync)")
            let remote = try contents()
            #expect(tree.expected.differences(from: remote) == [], "the model against the remote")
            let settled = try TreeContents(of: folder.point)
            #expect(tree.expected.differences(from: settled) == [], "the mount afterwards")
        }
    }
}
