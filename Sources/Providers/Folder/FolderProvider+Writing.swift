package import Engine
import Glibc
import ProviderSupport
import SystemCalls

extension FolderProvider {
    package func write(
        _ key: ObjectKey, from source: any ByteSource, attributes: ObjectAttributes,
        base: BaseVersion, session: any UploadSession
    ) async throws(ProviderError) -> RemoteObject {
        let pieceBytes = pieceBytes(of: source)
        guard source.size > pieceBytes else {
            return try await writeAtOnce(
                key, from: source, attributes: attributes, base: base, session: session)
        }
        let upload = try await perform(onCancel: .finish) { () throws(ProviderError) in
            try beginUpload(key, from: source, base: base)
        }
        do {
            var offset: UInt64 = 0
            while offset < source.size {
                let piece = offset..<min(offset + pieceBytes, source.size)
                try await waitUntilDue(piece.upperBound, of: source)
                try await perform(onCancel: .finish) { () throws(ProviderError) in
                    try upload.copy(piece)
                }
                offset = piece.upperBound
                session.noteSent(offset)
            }
            if !traits.recognisesWrites { try await session.requireProof() }
            return try await perform(onCancel: .finish) { () throws(ProviderError) in
                try upload.publish(attributes: attributes, traits: traits, base: base, session)
            }
        } catch {
            // The first failure says more than one of the clean-up.
            _ = try? await perform(onCancel: .ignore) { upload.drop() }
            throw error
        }
    }

    /// Writes one piece in one step, as the way to another thread and back costs more than a small file.
    private func writeAtOnce(
        _ key: ObjectKey, from source: any ByteSource, attributes: ObjectAttributes,
        base: BaseVersion, session: any UploadSession
    ) async throws(ProviderError) -> RemoteObject {
        try await waitUntilDue(source.size, of: source)
        if !traits.recognisesWrites { try await session.requireProof() }
        return try await perform(onCancel: .finish) { () throws(ProviderError) in
            let upload = try beginUpload(key, from: source, base: base)
            do throws(ProviderError) {
                try upload.copy(0..<source.size)
                session.noteSent(source.size)
                return try upload.publish(
                    attributes: attributes, traits: traits, base: base, session)
            } catch {
                upload.drop()
                throw error
            }
        }
    }

    /// Checks that the write can succeed, before any bytes are copied.
    private func beginUpload(
        _ key: ObjectKey, from source: any ByteSource, base: BaseVersion
    ) throws(ProviderError) -> FolderUpload {
        let place = try root.place(of: key)
        switch base {
        case .absent:
            guard try place.directory.statusIfPresent(of: place.name) == nil else {
                throw ProviderError(.exists, "something has this name")
            }
        case .version(let etag):
            try place.directory.expect(etag, at: place.name)
        }
        return try FolderUpload(at: place, from: source, pieceBytes: options.pieceBytes)
    }

    private func pieceBytes(of source: any ByteSource) -> UInt64 {
        min((source as? any PacedByteSource)?.pieceBytes ?? .max, UInt64(options.pieceBytes))
    }

    private func waitUntilDue(
        _ offset: UInt64, of source: any ByteSource
    ) async throws(ProviderError) {
        do {
            try await (source as? any PacedByteSource)?.waitUntilDue(offset)
        } catch {
            throw ProviderError(.cancelled, "cancelled")
        }
    }

    /// Does nothing: an interrupted upload leaves nothing behind, see ``FolderUpload``.
    package func abandon(_ token: UploadToken, of key: ObjectKey) async throws(ProviderError) {}

    package func createDirectory(
        _ key: ObjectKey, attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        try await perform(onCancel: .finish) { () throws(ProviderError) in
            if key == .root { throw ProviderError(.exists, "the root always exists") }
            let place = try root.place(of: key)
            try place.directory.makeDirectory(place.name, mode: mode_t(attributes.mode & 0o777))
            return try finishCreating(place, .directory, attributes)
        }
    }

    package func createSymlink(
        _ key: ObjectKey, target: [UInt8], attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        try await perform(onCancel: .finish) { () throws(ProviderError) in
            guard (1...4095).contains(target.count), !target.contains(0), traits.keepsSymlinks
            else {
                throw ProviderError(.unsupported, "the folder cannot store such a link")
            }
            let place = try root.place(of: key)
            try place.directory.makeSymlink(place.name, target: target)
            return try finishCreating(place, .symlink, attributes)
        }
    }

    /// Sets the attributes of a new object, regardless of the umask, and makes it durable.
    private func finishCreating(
        _ place: FolderPlace, _ kind: FileKind, _ attributes: ObjectAttributes
    ) throws(ProviderError) -> RemoteObject {
        try place.directory.set(
            attributes, on: place.name, kind: kind, etag: nil, traits: traits)
        try place.directory.synchronize()
        return try place.directory.object(place.name)
    }
}
