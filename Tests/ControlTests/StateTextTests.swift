import Foundation
import Testing

@testable import Control

struct StateTextTests {
    private var unmounted: StateReport {
        var report = StateReport(stateDirectory: "/var/lib/apus/cloud-1f9a")
        report.source = "folder:/srv/cloud"
        report.lastMountPoint = "/mnt/cloud"
        report.bytesOnDisk = 67 << 20
        report.pending = 3
        report.pendingBytes = 50 << 20
        return report
    }

    @Test func `a state has a line with its source, and one with its mount, size and changes`() {
        #expect(
            unmounted.text(columns: nil) == """
                /var/lib/apus/cloud-1f9a  folder:/srv/cloud
                  not mounted, last on /mnt/cloud, 67.0 MiB on disk; 3 changes (50.0 MiB) not yet on the remote
                """)
        var mounted = unmounted
        mounted.mountPoint = "/mnt/cloud"
        mounted.pending = 0
        #expect(
            mounted.text(columns: nil).hasSuffix(
                "\n  mounted on /mnt/cloud, 67.0 MiB on disk; everything is on the remote"))
        mounted.isDead = true
        #expect(
            mounted.text(columns: nil).contains("mounted on /mnt/cloud, where its daemon has died,")
        )
    }

    @Test func `an unknown number of changes is told with the reason`() {
        var report = StateReport(stateDirectory: "/s")
        report.unverified = Problem(what: "read", why: "it is\ndamaged")
        #expect(
            report.text(columns: nil)
                == "/s\n  not mounted; it is not known whether changes wait (it is?damaged)")
    }

    @Test func `a state waits for a mount if it holds, or may hold, what exists nowhere else`() {
        #expect(unmounted.waitsForMount)
        #expect(
            unmounted.waitingLine(columns: nil)
                == "Not mounted: folder:/srv/cloud, 3 changes (50.0 MiB) not yet on the remote in "
                + "/var/lib/apus/cloud-1f9a")
        var other = unmounted
        other.pending = nil
        #expect(other.waitsForMount)
        other.pending = 0
        #expect(!other.waitsForMount)
        other.held = 2
        #expect(other.waitsForMount)
        other.mountPoint = "/mnt/cloud"
        #expect(!other.waitsForMount)
    }

    @Test func `its JSON is stable`() throws {
        let json = String(decoding: try ControlJSON.encode(unmounted), as: UTF8.self)
        #expect(
            json == #"{"bytesOnDisk":70254592,"lastMountPoint":"/mnt/cloud","pending":3,"#
                + #""pendingBytes":52428800,"source":"folder:/srv/cloud","#
                + #""stateDirectory":"/var/lib/apus/cloud-1f9a"}"#)
        #expect(try ControlJSON.decode(StateReport.self, from: Data(json.utf8)) == unmounted)
    }
}
