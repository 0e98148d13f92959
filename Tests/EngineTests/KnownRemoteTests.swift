import Foundation
import Testing

@testable import Engine

@Suite("The known capabilities of a remote") struct KnownRemoteTests {
    private static let traits = ProviderTraits(
        name: "test", keepsMode: true, keepsSymlinks: false, modifiedResolution: .milliseconds(1),
        transfersMax: 7, queriesMax: 9, movesDirectoriesAtOnce: false, keepsVersionsInMoves: true,
        storesAttributesAtOnce: false, recognisesWrites: true, listsMetadata: false,
        trustsListings: true, keepsChecksums: true,
        extendedAttributes: ExtendedAttributeSpace(bytesMax: 100, bytes: \.byteCount),
        names: .caseless)

    @Test func `are known to the next process`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: StateDatabase.name).path(percentEncoded: false)
        let remote = KnownRemote(source: "test:", traits: Self.traits)
        do {
            let store = try Store(path: path)
            #expect(try store.knownRemote() == nil)
            try store.keep(remote)
            store.close()
        }
        let store = try Store(path: path)
        defer { store.close() }
        let known = try #require(try store.knownRemote())
        #expect(known == remote)
        #expect(known.extendedAttributesBytesMax == 100)
        #expect(known.traits.modifiedResolution == .milliseconds(1))
        #expect(known.traits.names == .caseless)
        #expect(known.traits.queriesMax == 9)
    }

    @Test func `differ by each of their values`() {
        var values = [Self.traits]
        for change: (inout ProviderTraits) -> Void in [
            { $0.keepsMode = false }, { $0.keepsSymlinks = true }, { $0.modifiedResolution = nil },
            { $0.transfersMax = 8 }, { $0.queriesMax = 8 }, { $0.movesDirectoriesAtOnce = true },
            { $0.keepsVersionsInMoves = false }, { $0.storesAttributesAtOnce = true },
            { $0.recognisesWrites = false }, { $0.listsMetadata = true },
            { $0.trustsListings = false }, { $0.keepsChecksums = false },
            { $0.extendedAttributes = nil }, { $0.names = .exact },
        ] {
            var traits = Self.traits
            change(&traits)
            values.append(traits)
        }
        let remotes = values.map { KnownRemote(source: "test:", traits: $0) }
        for (index, remote) in remotes.enumerated() {
            #expect(remotes.filter { $0 == remote }.count == 1, "value \(index)")
        }
        #expect(KnownRemote(source: "other:", traits: Self.traits) != remotes[0])
    }
}
