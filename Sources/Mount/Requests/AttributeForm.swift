/// How attributes are passed to the kernel.
package struct AttributeForm: Sendable {
    package var timeouts = CacheTimeouts()
    package var ownership = ShownOwnership()

    package init() {}
}
