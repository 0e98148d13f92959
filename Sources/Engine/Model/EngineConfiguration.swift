/// What a mount's engine is told at its start.
package struct EngineConfiguration: Sendable {
    /// Where the bytes come from, for people and for recognising the state again.
    package var source: String
    /// Refuses every change made here.
    package var isReadOnly = false
    /// How much clean and dirty content the state directory may hold, in bytes.
    package var cacheBytesMax: UInt64 = 20 << 30
    /// How often directories in use are listed anew.
    package var refreshInterval: Duration = .seconds(30)
    /// How long a file rests after its last writer closed before it is uploaded.
    package var settleTime: Duration = .seconds(1)
    /// How often a file that stays open for writing is uploaded.
    package var longWriterInterval: Duration = .seconds(30)
    /// How long a request of the kernel may wait for the remote (I8).
    package var requestDeadline: Duration = .seconds(60)
    /// How long a request may wait for a listing whose pages keep coming.
    package var listingDeadline: Duration = .seconds(600)
    /// More entries than that in one directory are taken for a store that has gone wrong (I9).
    package var listingEntriesMax = 10_000_000
    /// How much of what has lost its name on either side is cleared away in one transaction: others
    /// wait for that long.
    package var removalsMax = 100
    /// How long requests are waited for that are under way when the engine ends, and that cannot be
    /// told to stop.
    package var departureGrace: Duration = .seconds(10)
    /// Who owns what comes from the remote.
    package var owner: Caller
    /// The permission bits of what comes from a remote that keeps none.
    package var fileMode: UInt16 = 0o644
    package var directoryMode: UInt16 = 0o755
    /// Names the time since the machine was started: after another one, what was not put on the disk
    /// is not believed. Linux: `/proc/sys/kernel/random/boot_id`.
    package var boot = ""
    /// Where the mount is, as an absolute path without symbolic links: what points there stays inside.
    package var mountPoint: [UInt8]?
    /// Whether symbolic links of the remote's that lead out of the mount are shown only.
    package var containsSymlinks = true
    /// Names this machine in the names of conflicting versions.
    package var hostName: String
    /// The path of the control socket, for `user.apus.control`.
    package var controlSocket: String

    package init(source: String, owner: Caller, hostName: String, controlSocket: String) {
        self.source = source
        self.owner = owner
        self.hostName = hostName
        self.controlSocket = controlSocket
    }
}

extension EngineConfiguration {
    func requireWritable(_ attempt: @autoclosure () -> String) throws(Halt) {
        guard isReadOnly else { return }
        throw .failure(.readOnly, attempt(), remedy: "mount without --read-only")
    }
}
