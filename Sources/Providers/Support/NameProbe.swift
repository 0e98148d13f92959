package import Engine
import Foundation

/// Finds out which names a store takes for one, without writing anything.
package struct NameProbe {
    /// The values of the parameter `names` of a source.
    package static let values = "exact, composition or caseless"

    /// - Returns: nil if the parameter is absent.
    package static func matching(
        _ text: String?, _ forms: String
    ) throws(SourceError) -> NameMatching? {
        guard let text else { return nil }
        guard let names = NameMatching(rawValue: text) else {
            throw SourceError(
                .misspelled, "names=\(text) is none of \(values)", remedy: "write \(forms)")
        }
        return names
    }

    package struct Verdict: Hashable, Sendable {
        package let matching: NameMatching
        /// Whether no other root would have shown something else. If the root has no name to ask for, the
        /// store may take more names for one than was found.
        package let isProven: Bool
    }

    private let provider: any Provider

    package init(_ provider: any Provider) {
        self.provider = provider
    }

    /// Looks for objects of the root under spellings that its listing does not show.
    ///
    /// - Returns: nil if that proves nothing, as the store does not answer in time, or has no name that
    ///   can be spelled in another way.
    package func verdict(within limit: Duration, on clock: any Clock) async -> Verdict? {
        await withTaskGroup(of: Verdict?.self) { group in
            group.addTask { try? await look() }
            group.addTask {
                try? await clock.sleep(until: clock.uptime + limit)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    private func look() async throws(ProviderError) -> Verdict? {
        let page = try await provider.entries(of: .root).next()
        let ignoresCase = try await finds(page, under: { $0.swappedCase })
        if ignoresCase == true { return Verdict(matching: .caseless, isProven: true) }
        let ignoresForm = try await finds(page, under: { $0.otherForm })
        if ignoresForm == true {
            return Verdict(matching: .composition, isProven: ignoresCase == false)
        }
        guard ignoresCase == false else { return nil }
        // Most roots have no name with another form.
        return Verdict(matching: .exact, isProven: ignoresForm == false)
    }

    /// - Returns: nil if no name has another spelling, or it is not clear whose that is.
    private func finds(
        _ page: ListingPage, under spelling: (FileName) -> FileName?
    ) async throws(ProviderError) -> Bool? {
        let listed = Set(page.objects.map(\.name))
        for object in page.objects.sorted(by: { $0.name < $1.name }) {
            guard let other = spelling(object.name), !listed.contains(other) else { continue }
            guard let found = try await objectIfPresent(ObjectKey([other])) else {
                // Unless it was removed or renamed meanwhile.
                if try await objectIfPresent(ObjectKey([object.name])) == nil { continue }
                return false
            }
            // Another object, or the same one changed meanwhile.
            guard found.kind == object.kind, found.size == object.size else { continue }
            // It is the same object if the listing is complete, or if its version is.
            if page.isLast || object.kind == .file && found.etag == object.etag { return true }
        }
        return nil
    }

    /// - Returns: nil if there is none.
    private func objectIfPresent(_ key: ObjectKey) async throws(ProviderError) -> RemoteObject? {
        do throws(ProviderError) {
            return try await provider.stat(key)
        } catch {
            guard error.kind == .missing else { throw error }
            return nil
        }
    }
}

extension FileName {
    /// The name with all letters in the other case; nil if there are none.
    fileprivate var swappedCase: FileName? {
        let isLower = bytes.contains { (0x61...0x7A).contains($0) }
        let letters: ClosedRange<UInt8> = isLower ? 0x61...0x7A : 0x41...0x5A
        let swapped = bytes.map { letters.contains($0) ? $0 ^ 0x20 : $0 }
        return swapped == bytes ? nil : FileName(swapped)
    }

    /// The name in Unicode's other form, composed or decomposed; nil if they are the same.
    fileprivate var otherForm: FileName? {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        let forms = [
            text.decomposedStringWithCanonicalMapping, text.precomposedStringWithCanonicalMapping,
        ]
        return forms.first { !$0.utf8.elementsEqual(bytes) }.flatMap { FileName($0) }
    }
}
