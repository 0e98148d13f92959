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

    private let provider: any Provider

    package init(_ provider: any Provider) {
        self.provider = provider
    }

    /// Looks for objects of the root under spellings that its listing does not show.
    ///
    /// - Returns: `exact` if the store tells the names apart, does not answer, or has no name that
    ///   can be spelled in another way.
    package func matching() async -> NameMatching {
        guard let page = try? await provider.entries(of: .root).next() else { return .exact }
        if await finds(page, under: { $0.swappedCase }) { return .caseless }
        return await finds(page, under: { $0.otherForm }) ? .composition : .exact
    }

    private func finds(
        _ page: ListingPage, under spelling: (FileName) -> FileName?
    ) async -> Bool {
        let listed = Set(page.objects.map(\.name))
        for object in page.objects.sorted(by: { $0.name < $1.name }) {
            guard let other = spelling(object.name), !listed.contains(other) else { continue }
            guard let found = try? await provider.stat(ObjectKey([other])) else { return false }
            // It is the same object if the listing is complete, or if its version is.
            if found.kind == object.kind, found.size == object.size,
                page.isLast || object.kind == .file && found.etag == object.etag
            {
                return true
            }
        }
        return false
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
