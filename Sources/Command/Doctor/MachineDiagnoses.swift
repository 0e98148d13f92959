import Control
import Filters
import Host
import Mount
import SystemCalls
import Transport

/// The parts of the machine that mounts need: FUSE, the kernel, libraries, limits.
enum MachineDiagnoses {
    static var all: [Diagnosis] {
        [device, helper, sharing, passthrough, confinement, decoders, descriptors, libraries]
    }

    private static var device: Diagnosis {
        diagnosis("FUSE device", "/dev/fuse is there", .bad) { (attempt) throws(MountError) in
            try Prerequisites.checkDevice(attempt)
        }
    }

    /// Root mounts without it.
    private static var helper: Diagnosis {
        diagnosis("fusermount3", "installed", isRoot ? .note : .bad) {
            (attempt) throws(MountError) in try Prerequisites.checkHelper(attempt)
        }
    }

    private static var sharing: Diagnosis {
        guard !isRoot else { return .good("--allow-other", "root may always use it") }
        return diagnosis("--allow-other", "/etc/fuse.conf permits it", .note) {
            (attempt) throws(MountError) in try Prerequisites.checkSharing(attempt)
        }
    }

    private static var passthrough: Diagnosis {
        let subject = "kernel"
        guard KernelRelease.running.hasPassthrough else {
            return .note(
                subject, "older than Linux 6.9: it does not read local files by itself",
                remedy: "a later one makes read-only mounts of root faster")
        }
        return .good(subject, "it can read local files of read-only mounts by itself, for root")
    }

    private static var confinement: Diagnosis {
        let subject = "Landlock"
        let confinement = try? Confinement(program: "/proc/self/exe", memoryBytesMax: 1 << 30)
        guard confinement?.restrictsFiles == true else {
            return .note(subject, "missing: decoders of `apus apply` may read files")
        }
        return .good(subject, "decoders of `apus apply` have no access to files")
    }

    private static var decoders: Diagnosis {
        let subject = "image decoders"
        do {
            let program = try ImageWorkerLocation.program(within: PictureLimits())
            guard let version = try program.probe(within: .seconds(30)) else {
                return .note(
                    subject, "do not start: `apus apply` cannot filter pictures",
                    remedy: "install libvips again (Debian, Ubuntu: libvips42)")
            }
            return .good(subject, "libvips \(version)")
        } catch {
            let problem = CommandFailure(error)?.problem
            return .note(subject, problem?.why ?? "\(error)", remedy: problem?.remedy)
        }
    }

    /// The daemon raises its limit in the same way.
    private static var descriptors: Diagnosis {
        let limit = DescriptorLimit.raise()
        guard limit >= 4_096 else {
            return .note(
                "open files", "at most \(limit)",
                remedy: "raise the hard limit with `ulimit -Hn` or LimitNOFILE= of systemd")
        }
        return .good("open files", "at most \(limit)")
    }

    private static var libraries: Diagnosis {
        let names =
            "libfuse \(LibfuseVersion.text), \(CurlVersion.text.replacing("/", with: " "))"
        guard CurlVersion.usesHTTP2 else {
            return .note("libraries", names + ": HTTP/2 is not used before libcurl 8.2")
        }
        return .good("libraries", names)
    }

    private static var isRoot: Bool { Prerequisites.isRoot }

    /// - Parameter verdict: Of a failed check.
    private static func diagnosis(
        _ subject: String, _ finding: String, _ verdict: Diagnosis.Verdict,
        _ check: (_ attempt: String) throws(MountError) -> Void
    ) -> Diagnosis {
        do {
            try check(subject)
            return .good(subject, finding)
        } catch {
            return Diagnosis(
                subject: subject, verdict: verdict, finding: error.reason, remedy: error.remedy)
        }
    }
}
