import Engine
import Transport

/// One MOVE.
struct WebDAVMoveRequest {
    let key: ObjectKey
    let destination: ObjectKey
    var isCollection = false
    let overwrite: Bool
    /// Conditions, as header fields.
    var headers: [(name: String, value: String)] = []

    func send(_ lookup: WebDAVLookup) async throws(ProviderError) {
        let address = lookup.client.address
        let answer = try await lookup.client.send(
            .move, address.url(key, isCollection: isCollection),
            headers: [
                ("Destination", address.url(destination, isCollection: isCollection)),
                ("Overwrite", overwrite ? "T" : "F"),
            ] + headers)
        if answer.isSuccess { return }
        if answer.status == 412, !overwrite { throw .nameTaken }
        throw await lookup.explained(answer, destination)
    }
}
