/// The capabilities of this process.
enum Privileges {
    /// Whether it has CAP_SYS_ADMIN, at least in its own user namespace.
    static var administersSystem: Bool {
        administersSystem(status: readText("/proc/self/status") ?? "")
    }

    /// - Parameter status: The lines of `/proc/self/status`, see proc_pid_status(5).
    static func administersSystem(status: String) -> Bool {
        let sysAdmin: UInt64 = 1 << 21
        let line = status.split(separator: "\n").first { $0.hasPrefix("CapEff:") }
        let digits = line?.split(whereSeparator: \.isWhitespace).last
        return digits.flatMap { UInt64($0, radix: 16) }.map { $0 & sysAdmin != 0 } ?? false
    }
}
