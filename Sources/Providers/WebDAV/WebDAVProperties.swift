import Engine
import ProviderSupport
import Transport

/// Sets our own property, which holds the attributes that WebDAV has no property for.
struct WebDAVProperties: Sendable {
    let lookup: WebDAVLookup

    private var server: WebDAVServer { lookup.server }

    /// Sets the property if the server keeps such.
    ///
    /// - Parameter name: The name that the resource will get; by default the last one of `key`.
    /// - Returns: Whether it is kept.
    @discardableResult
    func set(
        _ attributes: WebDAVAttributes, of key: ObjectKey, name: FileName? = nil
    ) async throws(ProviderError) -> Bool {
        let bytes = (name ?? key.names.last)?.bytes.count ?? 0
        let isEssential = server.keepsProperties && !attributes.extendedAttributes.isEmpty
        guard server.keepsProperties, bytes <= server.propertyNameBytesMax else {
            if isEssential { throw Self.notKept }
            return false
        }
        let element = "<A:\(WebDAVAttributes.name)>\(attributes.text)</A:\(WebDAVAttributes.name)>"
        let answer = try await lookup.client.patch(
            lookup.client.address.url(key), "<D:set><D:prop>\(element)</D:prop></D:set>")
        guard answer.isSuccess else { throw await lookup.explained(answer, key) }
        if isEssential {
            // Some servers report success and drop the value.
            let kept = try await lookup.entry(at: key)?.attributes
            guard kept.map(WebDAVAttributes.init(parsing:)) == attributes else {
                throw Self.notKept
            }
        }
        return true
    }

    private static let notKept = ProviderError(
        .unsupported, "the server does not keep its extended attributes")

    /// Sets the attributes of an existing object of one version.
    func change(
        _ key: ObjectKey, to attributes: ObjectAttributes, only fields: AttributeFields, etag: ETag?
    ) async throws(ProviderError) -> RemoteObject {
        guard let name = key.names.last else {
            throw ProviderError(.unsupported, "the root's attributes cannot be changed")
        }
        return try await finishing { () async throws(ProviderError) in
            // No lock is needed: if the version is replaced meanwhile, the property names another one
            // and has no effect.
            var entry = try await lookup.found(key)
            try lookup.objects.expect(etag, of: entry, named: name)
            let old = lookup.objects.object(entry, named: name).object
            let new = WebDAVAttributes(
                attributes.applying(only: fields, to: old),
                etag: entry.isCollection ? nil : WebDAVVersion(entry).opaqueTag,
                nonce: lookup.objects.nonce(of: entry), target: old.target)
            if try await set(new, of: key) { entry.attributes = new.text }
            return try await lookup.stable(entry, key, named: name, afterChange: true)
        }
    }
}
