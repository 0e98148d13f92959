import Testing

@testable import Engine

@Suite("The directories that the remote follows")
struct FollowedDirectoriesTests {
    private let directory = InodeNumber(rawValue: 5)
    private let key = ObjectKey(["five"].compactMap { FileName($0) })

    /// Used, listed and followed from the first second on.
    private func following(from begin: Duration = .seconds(1)) -> RefreshSchedule {
        var used = RefreshSchedule(interval: .seconds(30))
        _ = used.setReporting(true, at: .zero)
        list(.root, as: .root, at: begin, &used)
        _ = used.note(directory, at: begin)
        list(directory, as: key, at: begin, &used)
        return used
    }

    private func list(
        _ directory: InodeNumber, as key: ObjectKey, at now: Duration, hasNews: Bool? = false,
        _ used: inout RefreshSchedule
    ) {
        used.noteListing(directory, at: now)
        _ = used.beginFollowing(directory, as: key)
        _ = used.endFollowing(directory, as: key, isFollowed: true)
        used.noteEnd(
            of: directory, begunAt: now, busy: .milliseconds(1), hasNews: hasNews, isVouched: true,
            at: now)
    }

    @Test func `are listed when a change is reported, and seldom otherwise`() {
        var used = following()
        #expect(used.takeDue(at: .seconds(31)).due == [])
        #expect(used.noteReports(of: [key], at: .seconds(40)) == true)
        #expect(used.takeDue(at: .seconds(40)) == (due: [], next: .milliseconds(40_050)))
        #expect(used.takeDue(at: .milliseconds(40_050)).due == [directory])
        list(directory, as: key, at: .milliseconds(40_050), &used)
        used.end(directory, at: .milliseconds(40_051))
        #expect(used.takeDue(at: .seconds(300)).due == [])
        // No use was known for five minutes, so only the root is looked at.
        #expect(used.takeDue(at: .seconds(301)).due == [.root])
    }

    @Test func `are listed at intervals while the remote reports nothing`() {
        var used = following()
        let isDue = used.setReporting(false, at: .seconds(5))
        #expect(isDue)
        #expect(used.takeDue(at: .seconds(31)).due == [.root, directory])
    }

    @Test func `are all listed once changes may have been missed`() {
        var used = following()
        let isDue = used.noteMissed(at: .seconds(5))
        #expect(isDue)
        #expect(used.takeDue(at: .seconds(6)).due == [.root, directory])
        #expect(used.takeUnfollowed() == [])
    }

    @Test func `are listed again for a change that was reported during a listing`() {
        var used = following()
        _ = used.noteReports(of: [key], at: .seconds(40))
        used.noteListing(directory, at: .seconds(41))
        _ = used.noteReports(of: [key], at: .seconds(42))
        used.noteEnd(
            of: directory, begunAt: .seconds(41), busy: .seconds(1), hasNews: true, isVouched: true,
            at: .seconds(43))
        #expect(used.takeDue(at: .seconds(60)).due == [directory])
    }

    @Test func `are listed again after a listing that failed, a little later each time`() {
        var used = following()
        _ = used.noteReports(of: [key], at: .seconds(40))
        var (now, listings) = (Duration.seconds(40), 0)
        while now < .seconds(70) {
            if used.takeDue(at: now).due.contains(directory) {
                listings += 1
                list(directory, as: key, at: now, hasNews: nil, &used)
                used.end(directory, at: now)
            }
            now += .milliseconds(50)
        }
        #expect((4...9).contains(listings), "\(listings)")
    }

    /// Goal: a directory that cannot be listed at all does not keep the refresher busy.
    @Test func `are looked at more and more seldom if a refresh cannot list them`() {
        var used = following()
        _ = used.noteReports(of: [key], at: .seconds(40))
        var (now, refreshes) = (Duration.seconds(40), 0)
        while now < .seconds(70) {
            if used.takeDue(at: now).due.contains(directory) {
                refreshes += 1
                used.end(directory, at: now)
            }
            now += .milliseconds(50)
        }
        #expect((4...9).contains(refreshes), "\(refreshes)")
    }

    /// Goal: a change shows at once in directories that programs only use through the kernel's caches.
    @Test func `are followed for an hour after their last known use`() {
        var used = following()
        #expect(used.takeIdle(at: .seconds(400)) == [directory])
        _ = used.takeDue(at: .seconds(400))
        #expect(used.noteReports(of: [key], at: .seconds(500)) == true)
        #expect(used.takeDue(at: .seconds(501)).due.contains(directory))
        list(directory, as: key, at: .seconds(501), &used)
        used.end(directory, at: .seconds(501))
        used.end(.root, at: .seconds(501))
        _ = used.takeDue(at: .seconds(3_600))
        #expect(used.takeUnfollowed() == [])
        _ = used.takeDue(at: .seconds(3_601))
        #expect(used.takeUnfollowed() == [key])
        #expect(used.noteReports(of: [key], at: .seconds(3_700)) == false)
    }

    @Test func `are those that were used last, and no more than can be remembered`() {
        var used = following()
        var unfollowed: [ObjectKey] = []
        for number in 100..<3_000 {
            let directory = InodeNumber(rawValue: Int64(number))
            let now = Duration.milliseconds(2_000 + number)
            _ = used.note(directory, at: now)
            let key = ObjectKey(["\(number)"].compactMap { FileName($0) })
            list(directory, as: key, at: now, &used)
            unfollowed += used.takeUnfollowed()
        }
        #expect(unfollowed.contains(key))
        #expect(unfollowed.count > 800)
        #expect(!unfollowed.contains(.root))
    }

    @Test func `have one key, under which no other one is followed`() {
        var used = following()
        let newKey = ObjectKey(["six"].compactMap { FileName($0) })
        list(directory, as: newKey, at: .seconds(2), &used)
        #expect(used.takeUnfollowed() == [key])
        let other = InodeNumber(rawValue: 6)
        _ = used.note(other, at: .seconds(3))
        list(other, as: newKey, at: .seconds(3), &used)
        #expect(used.takeUnfollowed() == [])
        #expect(used.noteReports(of: [newKey], at: .seconds(4)) == true)
        #expect(used.takeDue(at: .seconds(5)).due == [other])
        // Nothing vouches for the first one any more.
        #expect(used.takeDue(at: .seconds(32)).due == [directory])
    }

    /// The directory was forgotten before; the end of following it comes with the next use.
    @Test(arguments: [false, true])
    func `are listed again if the remote is told late to forget them`(isAnswered: Bool) {
        var used = following()
        let isDue = used.noteMissed(at: .seconds(400))
        #expect(isDue)
        #expect(used.takeUnfollowed() == [key])
        _ = used.note(directory, at: .seconds(401))
        used.noteListing(directory, at: .seconds(401))
        #expect(used.beginFollowing(directory, as: key) == true)
        if isAnswered { #expect(used.endFollowing(directory, as: key, isFollowed: true) == true) }
        used.noteUnfollowed(key, at: .seconds(402))
        if !isAnswered { #expect(used.endFollowing(directory, as: key, isFollowed: true) == true) }
        used.noteEnd(
            of: directory, begunAt: .seconds(401), busy: .seconds(1), hasNews: false,
            isVouched: true, at: .seconds(403))
        #expect(used.takeDue(at: .seconds(420)).due.contains(directory))
    }

    @Test func `that are forgotten before the remote answers are not followed`() {
        var used = following()
        used.noteListing(directory, at: .seconds(2))
        #expect(used.beginFollowing(directory, as: key) == true)
        _ = used.noteMissed(at: .seconds(400))
        #expect(used.takeUnfollowed() == [key])
        #expect(used.endFollowing(directory, as: key, isFollowed: true) == false)
        #expect(used.takeUnfollowed() == [key], "the remote followed it after that")
    }

    @Test func `are not followed if the remote refuses`() {
        var used = following()
        let other = InodeNumber(rawValue: 6)
        let otherKey = ObjectKey(["six"].compactMap { FileName($0) })
        _ = used.note(other, at: .seconds(2))
        #expect(used.beginFollowing(other, as: otherKey) == true)
        #expect(used.endFollowing(other, as: otherKey, isFollowed: false) == false)
        #expect(used.takeUnfollowed() == [otherKey])
        #expect(used.noteReports(of: [otherKey], at: .seconds(3)) == false)
    }

    /// Method: a listing during an outage asks for it in vain.
    @Test func `are followed as before if the remote does not answer`() {
        var used = following()
        used.noteListing(directory, at: .seconds(40))
        #expect(used.beginFollowing(directory, as: key) == true)
        #expect(used.endFollowing(directory, as: key, isFollowed: false) == false)
        #expect(used.takeUnfollowed() == [])
        #expect(used.noteReports(of: [key], at: .seconds(41)) == true)
    }

    /// Goal: a store that reports only the lowest followed directory shows new ones in the place of
    /// those that are gone.
    @Test func `are forgotten once they are gone, and a report of them is one of the next above`() {
        var used = following()
        let below = InodeNumber(rawValue: 6)
        let belowKey = key.appending(FileName("below")!)
        _ = used.note(below, at: .seconds(2))
        list(below, as: belowKey, at: .seconds(2), &used)
        #expect(used.noteReports(of: [belowKey], at: .seconds(10)) == true)
        #expect(used.takeDue(at: .seconds(11)).due == [below])
        used.noteGone(below, at: .seconds(11))
        used.end(below, at: .seconds(11))
        #expect(used.takeUnfollowed() == [belowKey])
        #expect(used.takeDue(at: .seconds(12)).due == [directory])
        used.noteGone(directory, at: .seconds(12))
        used.end(directory, at: .seconds(12))
        #expect(used.takeDue(at: .seconds(13)).due == [.root])
        list(.root, as: .root, at: .seconds(13), &used)
        used.end(.root, at: .seconds(13))
        #expect(used.takeUnfollowed() == [key])
        #expect(used.takeDue(at: .seconds(31)).due == [])
    }

    @Test func `have no other one listed if they are gone without a report`() {
        var used = following()
        used.noteGone(directory, at: .seconds(20))
        #expect(used.takeUnfollowed() == [key])
        #expect(used.takeDue(at: .seconds(21)).due == [])
    }
}
