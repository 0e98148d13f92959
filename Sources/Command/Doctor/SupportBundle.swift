import Control
import Engine
import Foundation
import Host
import Providers

/// The contents of a bug report about this machine: without secrets, names of files, and names of places.
struct SupportBundle {
    /// The state of a mount, in numbers.
    private struct MountSummary: Codable {
        /// Such as `s3`.
        let kind: String
        var isDead = false
        var counts: StatusCounts?
        var cacheBytesMax: UInt64?
        var isReachable: Bool?
        var refusesCredentials: Bool?
        var passthrough: PassthroughStatus?
        var unstored: UInt64?
        var traffic: TrafficCounts?
        var error: String?
    }

    private struct Machine: Codable {
        let apus: String
        let kernel: String
        let distribution: String
        let architecture: String
        let processors: Int
        let memoryBytes: UInt64
        let isRoot: Bool
    }

    private static let introduction = """
        For a bug report about Apus. It holds versions, the lines of `apus doctor`,
        numbers of each mount, and the messages of each log without their values.
        Names of files, of mounts, of sources, of this user and this machine are left
        out or replaced. Please look through it before you pass it on.

        """

    private let diagnoses: [Diagnosis]
    private let table: MountTable
    private let redaction: Redaction
    private let states: [String]

    /// - Parameter subjects: Sources that were looked at.
    init(
        _ diagnoses: [Diagnosis], _ subjects: [SourceDiagnoses.Subject],
        _ configuration: Configuration?, _ table: MountTable
    ) {
        self.diagnoses = diagnoses
        self.table = table
        let entries = StateInventory(table).entries
        states = entries.map(\.directory)
        redaction = Self.redaction(subjects, configuration, table, entries)
    }

    private static func redaction(
        _ subjects: [SourceDiagnoses.Subject], _ configuration: Configuration?,
        _ table: MountTable, _ states: [StateInventory.Entry]
    ) -> Redaction {
        var redaction = Redaction()
        for (index, mount) in table.apusMounts.enumerated() {
            redaction.hide(mount.mountPoint, as: "<mount \(index + 1)>")
            redaction.hide(mount.source, as: "<source of mount \(index + 1)>")
            let source = MountLabel(parsing: mount.source, userID: nil).source
            redaction.hide(source, as: "<source of mount \(index + 1)>")
        }
        for (index, state) in states.enumerated() {
            redaction.hide(state.directory, as: "<state \(index + 1)>")
            // The database of a mounted one is its daemon's.
            guard state.mount == nil else { continue }
            let report = StateInspection.unmounted(state.directory)
            if let source = report.source {
                redaction.hide(source, as: "<source of state \(index + 1)>")
            }
            if let point = report.lastMountPoint {
                redaction.hide(point, as: "<mount of state \(index + 1)>")
            }
        }
        for (index, mount) in (configuration?.mounts ?? []).enumerated() {
            redaction.hide(mount.path, as: "<path \(index + 1)>")
            redaction.hide(mount.name, as: "<name \(index + 1)>")
        }
        for (index, subject) in subjects.enumerated() {
            hide(subject, number: index + 1, in: &redaction)
        }
        redaction.hide(ProcessInfo.processInfo.hostName, as: "<machine>")
        // "root" is a word of messages.
        if geteuid() != 0, let user = getpwuid(getuid()) {
            redaction.hide(String(cString: user.pointee.pw_dir), as: "<home>")
            redaction.hide(String(cString: user.pointee.pw_name), as: "<user>")
        }
        redaction.hide(ProcessInfo.processInfo.environment["HOME"] ?? "", as: "<home>")
        return redaction
    }

    /// Hides a source and the parts of it that messages repeat: its host, its bucket, its path.
    private static func hide(
        _ subject: SourceDiagnoses.Subject, number: Int, in redaction: inout Redaction
    ) {
        redaction.hide(subject.source.description, as: "<source \(number)>")
        redaction.hide(subject.source.identity, as: "<source \(number)>")
        redaction.hide(subject.name, as: "<name \(number)>")
        let place = subject.source.description.split(separator: ":", maxSplits: 1).last ?? ""
        for part in place.split(whereSeparator: "/?&=:".contains) where part.count > 3 {
            guard !["https", "http", "true", "listing"].contains(part) else { continue }
            redaction.hide(String(part), as: "<part of source \(number)>")
        }
    }

    /// - Throws: `CommandFailure` if the file exists, or cannot be written.
    func write(to path: String) async throws {
        var archive = TarArchive(time: Int(Date().timeIntervalSince1970))
        archive.add("apus/README", Self.introduction)
        archive.add("apus/machine.json", try Self.json(machine))
        archive.add("apus/doctor.json", try Self.json(diagnoses.map(redaction.applied)))
        archive.add("apus/mounts.json", try Self.json(await mounts()))
        for (index, state) in states.enumerated() {
            guard let text = LogDigest.text(ofStateIn: state) else { continue }
            archive.add("apus/log-\(index + 1)", redaction.applied(to: text))
        }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CommandFailure(
                what: "write \(path)", why: String(cString: strerror(errno)).lowercased(),
                remedy: "name a file that does not exist yet")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: Data(archive.finished()))
    }

    private static func json(_ value: some Encodable) throws -> String {
        String(decoding: try ControlJSON.encode(value, pretty: true), as: UTF8.self) + "\n"
    }

    private var machine: Machine {
        var names = utsname()
        uname(&names)
        let texts = [names.release, names.machine].map { field in
            withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        let release = (try? String(contentsOfFile: "/etc/os-release", encoding: .utf8)) ?? ""
        let name = release.split(separator: "\n").first { $0.hasPrefix("PRETTY_NAME=") }
        return Machine(
            apus: ProgramVersion.text, kernel: texts[0],
            distribution: name.map { String($0.dropFirst(12).replacing("\"", with: "")) }
                ?? "unknown",
            architecture: texts[1], processors: ProcessInfo.processInfo.activeProcessorCount,
            memoryBytes: ProcessInfo.processInfo.physicalMemory, isRoot: geteuid() == 0)
    }

    private func mounts() async -> [MountSummary] {
        var summaries: [MountSummary] = []
        for mount in table.apusMounts {
            let kind = String(mount.source.prefix { $0 != ":" })
            var summary = MountSummary(kind: kind)
            summary.isDead = MountLocator.isDead(mount.mountPoint)
            if !summary.isDead { await fill(&summary, mount.mountPoint) }
            summaries.append(summary)
        }
        return summaries
    }

    private func fill(_ summary: inout MountSummary, _ mountPoint: String) async {
        do {
            let client = try Daemons().target(mountPoint: mountPoint).client
            let report = try await client.status(below: [], limit: 0)
            summary.counts = report.counts
            summary.cacheBytesMax = report.cacheBytesMax
            summary.isReachable = report.remote.isReachable
            summary.refusesCredentials = report.remote.refusesCredentials
            summary.passthrough = report.passthrough
            summary.unstored = report.unstored
            summary.traffic = report.traffic
        } catch {
            summary.error = redaction.applied(
                to: CommandFailure(error)?.problem.why ?? "the daemon does not answer")
        }
    }
}
