import Engine
import ProviderSupport
import Synchronization
import System

/// Collects the entries of a listing, on the transport's thread.
final class ListingCollector: Sendable {
    struct Outcome: Sendable {
        var own: WebDAVEntry?
        /// The number of invalid names.
        var skipped = 0
        /// Files whose size the server does not report, so that they cannot be read.
        var unsized: [FileName] = []
        /// The number of files whose version tags may still change.
        var unstable = 0
        /// A child that the server does not describe.
        var untold: (name: FileName, status: Int)?
    }

    private struct State {
        var spool: WebDAVSpool
        var outcome = Outcome()
    }

    private let state: Mutex<State>

    init(_ spool: WebDAVSpool) {
        state = Mutex(State(spool: spool))
    }

    var outcome: Outcome { state.withLock { $0.outcome } }

    func take(
        _ entry: WebDAVEntry, at place: WebDAVAddress.Place,
        _ object: (WebDAVEntry, FileName) -> (object: RemoteObject, isStable: Bool)
    ) throws(XMLError) {
        let failure = state.withLock { state -> SystemError? in
            switch place {
            case .itself: state.outcome.own = entry
            case .elsewhere, .oddChild: state.outcome.skipped += 1
            case .child(let name):
                guard !WebDAVName.isReserved(name) else { break }
                switch entry.presence {
                case .present: break
                case .missing, .lockAlone: return nil
                case .untold(let status):
                    state.outcome.untold = (name, status)
                    return nil
                }
                guard entry.isSized else {
                    state.outcome.unsized.append(name)
                    return nil
                }
                let (object, isStable) = object(entry, name)
                if !isStable { state.outcome.unstable += 1 }
                do throws(SystemError) {
                    try state.spool.append(WebDAVListed(object: object, isStable: isStable))
                } catch {
                    return error
                }
            }
            return nil
        }
        if let failure { throw XMLError("it cannot be stored: \(failure)") }
    }

    func finish() throws(SystemError) -> WebDAVListing {
        let result = state.withLock { state -> Result<WebDAVListing, SystemError> in
            do throws(SystemError) {
                return .success(try state.spool.finish())
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
