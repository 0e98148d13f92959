import Engine

extension ProviderConformance {
    static let listingCases = [
        Case("an empty store lists nothing, and its root is a directory") { store in
            try await store.expectNames([], in: "")
            let root = try await store.provider.stat(.root)
            try require(root.kind, equals: .directory, "the kind of the root")
        },
        Case("a listing shows the same as stat") { store in
            try await store.write("file", store.bytes(10))
            try await store.makeDirectory("directory")
            for object in try await store.list("") {
                let seen = try await store.provider.stat(ObjectKey([object.name]))
                try store.expect([object], shows: [seen])
                try require(
                    object.etag != nil, equals: object.kind == .file, "an etag of a file alone")
            }
        },
        Case("a listing that does not tell all tells no later write of what is new") { store in
            guard !store.provider.traits.listsMetadata else { return }
            for size in [0, 10, store.options.bytesOfSeveralPieces] {
                let object = try await store.write("\(size)", store.bytes(size))
                let listed = try await store.list("").first { $0.name == object.name }?
                    .remoteModified
                guard let listed, let written = object.remoteModified, listed <= written else {
                    throw ConformanceFailure(
                        "\(size) bytes: \(object.remoteModified as Any) is known, \(listed as Any) listed"
                    )
                }
            }
        },
        Case("a listing that does not tell all tells what others set right after us") { store in
            guard !store.provider.traits.listsMetadata else { return }
            let sizes = [0, store.options.bytesOfSeveralPieces, 10]
            var object = try await store.write("file", store.bytes(10))
            for step in 0..<sizes.count + 2 {
                var (key, attributes) = (try store.key("file"), ConformanceStore.attributes)
                let etag = try store.etag(of: object)
                switch step {
                case sizes.indices:
                    let bytes = store.bytes(sizes[step], seed: UInt64(step) + 1)
                    object = try await store.write("file", bytes, base: .version(etag))
                case sizes.count:
                    attributes.mode = 0o600
                    object = try await store.provider.setAttributes(key, to: attributes, etag: etag)
                default:
                    key = try store.key("moved")
                    object = try await store.provider.move(
                        store.key("file"), etag: etag, to: key, base: .absent)
                }
                attributes.mode = 0o640
                let after = try await store.provider.setAttributes(
                    key, to: attributes, etag: try store.etag(of: object))
                let listed = try await store.list("").first?.remoteModified
                guard let listed, let written = object.remoteModified, listed > written else {
                    throw ConformanceFailure(
                        "step \(step): \(object.remoteModified as Any) is known, \(listed as Any) listed"
                    )
                }
                object = after
            }
        },
        Case("a large directory is listed in pages, each entry once") { store in
            try await store.makeDirectory("many")
            let names = (0..<store.options.entriesOfSeveralPages).map { "entry \($0)" }
            for name in names { try await store.write("many/\(name)", []) }
            let pages = try await store.pages(of: "many")
            try require(
                pages.count > 1 || !store.options.listsInPages,
                "\(names.count) entries take more than one page")
            let found = pages.flatMap(\.self).map(\.name.description).sorted()
            try require(found, equals: names.sorted(), "the names on all pages")
        },
        Case("what stays is listed once while other entries come and go") { store in
            try await store.makeDirectory("many")
            let count = store.options.entriesOfSeveralPages
            for index in 0..<count { try await store.write("many/\(index)", []) }
            let cursor = try store.provider.entries(of: store.key("many"))
            var page = try await cursor.next()
            var found = page.objects.map(\.name.description)
            // Gone and come: before, behind and at the place where the listing stands.
            for index in stride(from: 0, to: count, by: 3) {
                let object = try await store.provider.stat(store.key("many/\(index)"))
                try await store.provider.delete(
                    store.key("many/\(index)"), kind: .file, etag: object.etag)
                try await store.write("many/new \(index)", [])
            }
            while !page.isLast {
                page = try await cursor.next()
                found += page.objects.map(\.name.description)
            }
            let staying = (0..<count).filter { $0 % 3 != 0 }.map(String.init).sorted()
            try require(
                found.filter(Set(staying).contains).sorted(), equals: staying,
                "the names that were there all the time")
        },
        Case("listings of one directory do not disturb each other") { store in
            try await store.makeDirectory("many")
            for index in 0..<store.options.entriesOfSeveralPages {
                try await store.write("many/\(index)", [])
            }
            let cursor = try store.provider.entries(of: store.key("many"))
            var page = try await cursor.next()
            var found = page.objects
            _ = try await store.provider.entries(of: store.key("many")).next()
            while !page.isLast {
                page = try await cursor.next()
                found += page.objects
            }
            let all = try await store.list("many")
            try require(Set(found), equals: Set(all), "the interrupted listing")
        },
        Case("listing what is missing or no directory fails") { store in
            try await store.write("file", [1])
            try await store.expect(.missing, of: "listing what is missing") {
                _ = try await store.provider.entries(of: store.key("nothing")).next()
            }
            try await store.expect(.missing, of: "listing below what is missing") {
                _ = try await store.provider.entries(of: store.key("nothing/below")).next()
            }
            try await store.expect(.wrongKind, of: "listing a file") {
                _ = try await store.provider.entries(of: store.key("file")).next()
            }
        },
    ]
}
