import Control
import Mount

extension PassthroughStatus {
    init(_ lending: Lending) {
        switch lending {
        case .used: self.init(isUsed: true)
        case .unused(let obstacle):
            self.init(
                isUsed: false, reason: Self.reason(obstacle), isHindered: obstacle != .writable)
        }
    }

    private static func reason(_ obstacle: Lending.Obstacle) -> String {
        switch obstacle {
        case .writable: "only a mount with --read-only can do without the daemon"
        case .kernel: "the kernel has no FUSE passthrough, which came with Linux 6.9"
        case .library: "it is not supported with this version of libfuse"
        case .privilege: "the daemon lacks the capability SYS_ADMIN of the machine"
        case .fileSystem: "the file system of the state directory does not allow it"
        }
    }
}
