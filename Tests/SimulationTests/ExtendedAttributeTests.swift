import Simulation
import Testing

@testable import Engine

@Suite("Extended attributes")
struct ExtendedAttributeTests {
    private static let file = Scenario.key("file")

    // MARK: Here

    @Test func `they are set, created, replaced and removed as on Linux`() throws {
        try Scenario.run { it in
            try await it.write("file", [1])
            let file = try await it.find("file")
            try it.set("user.a", "1", of: file)
            #expect(try it.attribute("user.a", of: file) == "1")
            try it.set("user.empty", "", of: file)
            #expect(try it.attribute("user.empty", of: file) == "")
            #expect(try it.attributes(of: file) == ["user.a": "1", "user.empty": ""])
            it.expect(.exists) { try it.set("user.a", "2", .create, of: file) }
            it.expect(.noAttribute) { try it.set("user.b", "2", .replace, of: file) }
            it.expect(.noAttribute) { try it.set("user.b", nil, of: file) }
            it.expect(.noAttribute) { _ = try it.attribute("user.b", of: file) }
            try it.set("user.a", "2", .replace, of: file)
            try it.set("user.b", "3", .create, of: file)
            try it.set("user.empty", nil, of: file)
            #expect(try it.attributes(of: file) == ["user.a": "2", "user.b": "3"])
        }
    }

    @Test
    func `changes of Apus's own, of those of symbolic links, and oversized values are refused`()
        throws
    {
        var settings = SimulatedMountSettings()
        settings.provider.extendedAttributesBytesMax = 100
        try Scenario.run(settings: settings) { it in
            try await it.write("file", [1])
            let file = try await it.find("file")
            let link = try await it.makeSymlink("link")
            it.expect(.unsupported) { try it.set("user.apus.state", "x", of: file) }
            it.expect(.unsupported) { try it.set("user.", "x", of: file) }
            it.expect(.unsupported) { try it.set("security.capability", "x", of: file) }
            it.expect(.unsupported) { try it.set("user.a", "x", of: link) }
            it.expect(.tooLarge) {
                try it.set("user.a", String(repeating: "x", count: 65_537), of: file)
            }
            try it.set("user.a", String(repeating: "x", count: 94), of: file)
            it.expect(.outOfSpace) { try it.set("user.b", "", of: file) }
            #expect(try it.attributes(of: file).count == 1)
            // Attributes that are not listed can still be read.
            #expect(try it.attribute("user.apus.state", of: file) == "dirty")
        }
    }

    @Test func `a change updates the change time only`() throws {
        try Scenario.run { it in
            try await it.write("file", [1])
            let file = try await it.find("file")
            let before = try it.engine.attributes(of: file)
            try await it.wait(.seconds(5))
            try it.set("user.a", "1", of: file)
            let after = try it.engine.attributes(of: file)
            #expect(after.changed > before.changed)
            #expect(after.modified == before.modified)
        }
    }

    @Test func `they belong to their inode, and no other inode gets them`() throws {
        try Scenario.run { it in
            try await it.write("file", [1])
            let file = try await it.find("file")
            try it.set("user.a", "1", of: file)
            #expect(try await it.rest())
            try await it.rename("file", to: "other")
            #expect(try await it.rest())
            #expect(it.remoteAttributes("other") == ["user.a": "1"])
            try await it.unlink("other")
            #expect(try await it.rest())
            try await it.write("file", [1])
            #expect(try it.attributes(of: try await it.find("file")).isEmpty)
            // The flusher removes an unlinked inode after the removal of its name is durable.
            try await it.wait(.seconds(10))
            #expect(try it.engine.store.read { try $0.extendedAttributes(of: file) }.isEmpty)
        }
    }

    // MARK: There

    /// Method: one is uploaded with the file, the next without its bytes.
    @Test func `they are uploaded`() throws {
        try Scenario.run { it in
            try await it.write("file", [1])
            let file = try await it.find("file")
            try it.set("user.a", "1", of: file)
            #expect(try await it.rest())
            #expect(it.remoteAttributes("file") == ["user.a": "1"])
            let version = it.remote.versions(of: Self.file).last?.etag
            try it.set("user.b", "2", of: file)
            try it.set("user.a", nil, of: file)
            #expect(try await it.rest())
            #expect(it.remoteAttributes("file") == ["user.b": "2"])
            #expect(it.remote.versions(of: Self.file).last?.etag == version)
        }
    }

    @Test func `a remote change is applied here`() throws {
        try Scenario.run {
            try $0.otherClientWrites(Self.file, [0])
        } _: { it in
            let file = try await it.find("file")
            try it.remote.otherClientSets("user.a", "1", of: Self.file)
            try await it.refresh()
            #expect(try it.attributes(of: file) == ["user.a": "1"])
            try it.remote.otherClientSets("user.a", nil, of: Self.file)
            try await it.refresh()
            #expect(try it.attributes(of: file).isEmpty)
        }
    }

    @Test func `changes of both sides are merged by name, ours first`()
        throws
    {
        try Scenario.run {
            try $0.otherClientWrites(Self.file, [0])
            try $0.otherClientSets("user.kept", "0", of: Self.file)
            try $0.otherClientSets("user.removed", "0", of: Self.file)
        } _: { it in
            let file = try await it.find("file")
            it.remote.setReachable(false)
            try it.set("user.ours", "1", of: file)
            try it.set("user.both", "1", of: file)
            try it.set("user.removed", nil, of: file)
            try it.remote.otherClientSets("user.theirs", "2", of: Self.file)
            try it.remote.otherClientSets("user.both", "2", of: Self.file)
            it.remote.setReachable(true)
            try await it.refresh()
            #expect(try await it.rest())
            let all = ["user.kept": "0", "user.ours": "1", "user.both": "1", "user.theirs": "2"]
            #expect(try it.attributes(of: file) == all)
            #expect(it.remoteAttributes("file") == all)
        }
    }

    @Test func `a changed object has those of the remote, with local changes applied`() throws {
        try Scenario.run {
            try $0.otherClientWrites(Self.file, [0])
        } _: { it in
            let file = try await it.find("file")
            it.remote.setReachable(false)
            try it.set("user.ours", "1", of: file)
            try it.remote.otherClientWrites(Self.file, [1, 2])
            try it.remote.otherClientSets("user.theirs", "2", of: Self.file)
            it.remote.setReachable(true)
            try await it.refresh()
            #expect(try await it.rest())
            #expect(try await it.read("file") == [1, 2])
            let all = ["user.ours": "1", "user.theirs": "2"]
            #expect(try it.attributes(of: try await it.find("file")) == all)
            #expect(it.remoteAttributes("file") == all)
        }
    }

    @Test func `a conflict's version keeps its own`() throws {
        try Scenario.run {
            try $0.otherClientWrites(Self.file, [0])
        } _: { it in
            _ = try await it.read("file")
            it.remote.setReachable(false)
            try await it.write("file", [1, 1])
            try it.set("user.ours", "1", of: try await it.find("file"))
            try it.remote.otherClientWrites(Self.file, [2, 2, 2])
            try it.remote.otherClientSets("user.theirs", "2", of: Self.file)
            it.remote.setReachable(true)
            #expect(try await it.rest())
            let ours = try #require(try await it.names(in: "").first { $0.contains("conflict") })
            #expect(it.remoteAttributes(ours) == ["user.ours": "1"])
            #expect(it.remoteAttributes("file") == ["user.theirs": "2"])
        }
    }

    // MARK: Without attributes in listings

    private static var headersOnly: SimulatedMountSettings {
        var settings = SimulatedMountSettings()
        settings.provider.listsMetadata = false
        return settings
    }

    @Test func `a query waits for the object's metadata`() throws {
        try Scenario.run(settings: Self.headersOnly) {
            try $0.otherClientWrites(Self.file, [0])
            try $0.otherClientSets("user.a", "1", of: Self.file)
        } _: { it in
            let file = try await it.find("file")
            let found = try await it.engine.retrying { () throws(Blocked) in
                try it.engine.extendedAttribute(Array("user.a".utf8), of: file)
            }
            #expect(found == Array("1".utf8))
        }
    }

    @Test func `a query does not wait for an object replaced on the remote under a writer`() throws
    {
        try Scenario.run(settings: Self.headersOnly) {
            try $0.otherClientWrites(Self.file, [0])
        } _: { it in
            let file = try await it.find("file")
            try it.engine.open(file, access: .write, truncating: true)
            try it.remote.otherClientWrites(Self.file, [1])
            try await it.engine.retrying { () throws(Blocked) in
                try it.set("user.a", "1", of: file)
            }
            it.engine.release(file, access: .write)
            #expect(try await it.rest())
            let ours = try #require(try await it.names(in: "").first { $0.contains("conflict") })
            #expect(it.remoteAttributes(ours) == ["user.a": "1"])
        }
    }

    /// Method: the file is known only from a listing, without its metadata.
    @Test(arguments: ["write", "chmod"])
    func `another change does not remove attributes that were not known`(change: String) throws {
        try Scenario.run(settings: Self.headersOnly) {
            try $0.otherClientWrites(Self.file, [0])
            try $0.otherClientSets("user.a", "1", of: Self.file)
        } _: { it in
            let entry = try #require(
                try await it.engine.retrying { () throws(Blocked) in
                    try it.engine.entries(of: .root, after: 0, limit: 1)
                }.first)
            let file = entry.attributes.inode
            if change == "write" {
                try it.engine.open(file, access: .write, truncating: true)
                it.engine.release(file, access: .write)
            } else {
                var change = AttributeChange()
                change.mode = 0o600
                _ = try it.engine.setAttributes(of: file, to: change)
            }
            #expect(try await it.rest())
            #expect(it.remoteAttributes("file") == ["user.a": "1"])
            #expect(it.remote.attributes()[Self.file]?.mode == (change == "write" ? 0o644 : 0o600))
            #expect(it.remoteBytes("file") == (change == "write" ? [] : [0]))
        }
    }
}

extension ExtendedAttributeTests {
    @Test func `their encoding is unique, and a damaged one is an error`() throws {
        var attributes = ExtendedAttributes()
        attributes[Array("user.b".utf8)] = [UInt8](repeating: 7, count: 65_536)
        attributes[[0x75, 0x73, 0x65, 0x72, 0x2E, 0xFF]] = []
        let encoded = attributes.encoded
        #expect(ExtendedAttributes(encoded: encoded) == attributes)
        #expect(ExtendedAttributes(encoded: []) == ExtendedAttributes())
        for count in 1..<encoded.count where count < 20 || count > encoded.count - 20 {
            let cut = ExtendedAttributes(encoded: encoded.prefix(count))
            #expect(cut == nil || cut?.encoded == Array(encoded.prefix(count)))
        }
        #expect(ExtendedAttributes(encoded: [0, 0, 0, 0, 0]) == nil)
    }
}

extension Scenario {
    func set(
        _ name: String, _ value: String?, _ change: ExtendedAttributeChange = .set,
        of inode: InodeNumber
    ) throws(Blocked) {
        try engine.setExtendedAttribute(
            Array(name.utf8), to: value.map { Array($0.utf8) }, change, of: inode)
    }

    func attribute(_ name: String, of inode: InodeNumber) throws(Blocked) -> String {
        String(
            decoding: try engine.extendedAttribute(Array(name.utf8), of: inode), as: UTF8.self)
    }

    func attributes(of inode: InodeNumber) throws(Blocked) -> [String: String] {
        try engine.extendedAttributes(of: inode).asText
    }

    func remoteAttributes(_ path: String) -> [String: String]? {
        remote.attributes()[Self.key(path)]?.extendedAttributes.asText
    }

    func expect(
        _ kind: EngineError.Kind, sourceLocation: SourceLocation = #_sourceLocation,
        _ body: () throws -> Void
    ) {
        #expect(sourceLocation: sourceLocation) {
            try body()
        } throws: { error in
            guard case .failure(let error)? = error as? Blocked else { return false }
            return error.kind == kind
        }
    }
}

extension SimulatedProvider {
    fileprivate func otherClientSets(
        _ name: String, _ value: String?, of key: ObjectKey
    ) throws(ProviderError) {
        try otherClientSets(Array(name.utf8), of: key, to: value.map { Array($0.utf8) })
    }
}

extension ExtendedAttributes {
    fileprivate var asText: [String: String] {
        var text: [String: String] = [:]
        for name in names {
            text[String(decoding: name, as: UTF8.self)] = String(
                decoding: self[name] ?? [], as: UTF8.self)
        }
        return text
    }
}
