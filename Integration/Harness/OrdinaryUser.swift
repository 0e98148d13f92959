import Glibc
import Testing

/// A user other than root, as whom tests run programs even if they run as root themselves.
///
/// On a machine that gives only root access to `/dev/fuse`, these programs run in a mount namespace
/// with a device of their own; mounts made there are not visible to the test.
final class OrdinaryUser: Sendable {
    /// `nobody`, unless the tests run as an ordinary user.
    let userID: uid_t
    private let namespace: Program?
    private let prefix: [String]

    private static let script = """
        mknod -m 666 "$0/fuse" c 10 229 && mount --bind "$0/fuse" /dev/fuse &&
            echo $$ > "$0/process.new" && mv "$0/process.new" "$0/process" && exec sleep 100
        """

    /// - Parameter directory: An empty directory for this object, on a file system with devices.
    init(directory: String) throws {
        guard geteuid() == 0 else {
            (userID, namespace, prefix) = (geteuid(), nil, [])
            return
        }
        userID = 65_534
        let identity = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if try Files.status("/dev/fuse").st_mode & 0o006 == 0o006 {
            (namespace, prefix) = (nil, identity)
            return
        }
        namespace = try Program.start(
            [
                "unshare", "--mount", "--propagation", "private", "sh", "-c", Self.script,
                directory,
            ], limitSeconds: 110)
        try eventually("the namespace exists") { Files.exists("\(directory)/process") }
        let process = String(decoding: try Files.read("\(directory)/process"), as: UTF8.self)
        prefix =
            ["nsenter", "--target", String(process.prefix { $0 != "\n" }), "--mount"] + identity
    }

    deinit { namespace?.killAll() }

    /// Runs a program to its end, whatever its exit status.
    func run(_ command: [String], environment: [String: String]) throws -> Program.Result {
        try Program.start(prefix + command, environment: environment).wait()
    }

    /// Whether this user can run `apus`, which may be in a directory that is closed to others.
    var canRunApus: Bool {
        (try? run([Apus.path, "--version"], environment: [:]))?.status == 0
    }
}
