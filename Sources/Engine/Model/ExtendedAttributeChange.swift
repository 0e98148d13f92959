/// How setting an extended attribute treats one that exists. Linux: `XATTR_CREATE`,
/// `XATTR_REPLACE`.
package enum ExtendedAttributeChange: Sendable {
    case set
    case create
    case replace
}
