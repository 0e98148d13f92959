/// How to set an extended attribute that may exist. Linux: `XATTR_CREATE`, `XATTR_REPLACE`.
package enum ExtendedAttributeChange: Sendable {
    case set
    case create
    case replace
}
