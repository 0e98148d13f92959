/// What a server answered, without the body, which went to an ``HTTPBodySink``.
package struct HTTPResponse: Hashable, Sendable {
    /// 200 to 599.
    package let status: Int

    package init(status: Int) {
        self.status = status
    }

    package var isSuccess: Bool { (200..<300).contains(status) }
}
