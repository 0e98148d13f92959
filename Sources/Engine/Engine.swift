/// The system part: keeps every bit of state of one mount, answers the kernel, and brings local and
/// remote together.
package final class Engine: Sendable {
    init() {}
}
