import Control

/// The mounts of this machine, and states whose changes wait for a mount.
enum MountDiagnoses {
    static func all(in table: MountTable) -> [Diagnosis] {
        let mounts = table.apusMounts.map { mount in
            MountLocator.isDead(mount.mountPoint)
                ? Diagnosis.bad(
                    "mount", "the daemon of \(mount.mountPoint) is dead",
                    remedy: "run `apus unmount \(mount.mountPoint)`, and mount it again")
                : .good("mount", mount.mountPoint)
        }
        let waiting = StateInventory(table).waiting.map { state in
            Diagnosis.note("unmounted state", state.waitingLine(columns: nil))
        }
        return (mounts.isEmpty ? [.good("mount", "none")] : mounts) + waiting
    }
}
