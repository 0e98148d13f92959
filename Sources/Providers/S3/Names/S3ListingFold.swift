import Engine

/// Converts a bucket's listing with delimiter into directory entries, page by page.
///
/// A listing comes in byte order. So of all earlier keys, only those that a key begins with matter
/// to it: `a` to `a/`, `a/` to `a_$folder$`, the first piece of a long part to the next one. These
/// few are kept.
struct S3ListingFold: Sendable {
    /// A part that later names may begin with.
    private struct Seen: Hashable, Sendable {
        /// Below the directory, without `/`.
        let part: [UInt8]
        let kind: Kind

        enum Kind { case file, directory, beginning }
    }

    /// One entry of a directory.
    struct Entry: Hashable, Sendable {
        let name: FileName
        /// The object; nil for a directory.
        let object: S3Listing.Object?
    }

    private let place: S3KeyMap.Place
    private var seen: [Seen] = []
    /// The entries of the last page added.
    private(set) var entries: [Entry] = []
    /// Whether the directory exists, even if it shows nothing.
    private(set) var isPresent = false

    init(_ place: S3KeyMap.Place) {
        self.place = place
    }

    mutating func add(_ page: S3Listing) {
        entries = []
        // Objects and prefixes come in two lists; only the merged list is in byte order.
        let objects = page.objects.map { (key: $0.key, object: Optional($0)) }
        let prefixes = page.prefixes.map { (key: $0, object: nil as S3Listing.Object?) }
        let all = (objects + prefixes).sorted {
            $0.key.bytes.lexicographicallyPrecedes($1.key.bytes)
        }
        for item in all { add(item.key, item.object) }
        // If a store lists a key twice, the first counts.
        var names: Set<FileName> = []
        entries = entries.filter { names.insert($0.name).inserted }
    }

    private mutating func add(_ key: S3Key, _ object: S3Listing.Object?) {
        guard key.bytes.starts(with: place.directory.bytes) else { return }
        isPresent = true
        var part = Array(key.bytes.dropFirst(place.directory.bytes.count))
        if object == nil {
            guard part.last == S3Key.slash else { return }
            part.removeLast()
        }
        // An invalid answer must not lead to another directory.
        guard !part.contains(S3Key.slash) else { return }
        if part.isEmpty, let object, object.size == 0, !place.isBeginning { return }
        if S3Probe.isProbe(part) { return }
        seen.removeAll { !part.starts(with: $0.part) }
        if place.isBeginning, !isLong(place.open + part) { return }
        if let object, let directory = folder(part), object.size == 0 {
            return addDirectory(directory)
        }
        if isLong(part) { return addBeginning(of: part) }
        if let object {
            let file = Seen(part: part, kind: .file)
            if !seen.contains(file) { seen.append(file) }
            append(S3Name(part: part), object)
        } else {
            addDirectory(part)
        }
    }

    private mutating func addDirectory(_ part: [UInt8]) {
        guard !seen.contains(Seen(part: part, kind: .directory)) else { return }
        // The directory that `a//` names always exists beside the object `a/`.
        let isBesideFile = part.isEmpty || seen.contains(Seen(part: part, kind: .file))
        seen.append(Seen(part: part, kind: .directory))
        append(S3Name(part: part, form: isBesideFile ? .besideFile : .whole), nil)
    }

    private mutating func addBeginning(of part: [UInt8]) {
        let beginning = S3Name.beginning(of: part)
        let seen = Seen(part: beginning.part, kind: .beginning)
        guard !self.seen.contains(seen) else { return }
        self.seen.append(seen)
        append(beginning, nil)
    }

    private mutating func append(_ name: S3Name, _ object: S3Listing.Object?) {
        guard let name = name.name else { return }
        entries.append(Entry(name: name, object: object))
    }

    /// Whether a part has no name of its own.
    private func isLong(_ part: [UInt8]) -> Bool {
        S3Name(part: part, form: .besideFile).name == nil && S3Name(part: part).name == nil
    }

    /// The directory that `x_$folder$` stands for.
    private func folder(_ part: [UInt8]) -> [UInt8]? {
        let suffix = Array(S3KeyMap.folderSuffix)
        guard part.count > suffix.count, part.suffix(suffix.count) == suffix[...] else {
            return nil
        }
        return part.dropLast(suffix.count)
    }
}
