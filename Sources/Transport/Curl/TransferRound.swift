/// The transfers that have received something since the transport's thread has last waited.
///
/// libcurl calls back for each line of a header and each 16 KiB of a body. The rest of the work, such as
/// waking the thread of a sink, is done once for all that has arrived. Used only by that thread.
final class TransferRound {
    let throttle: Throttle<Transfer>
    var transfers: [Transfer] = []

    init(_ throttle: Throttle<Transfer>) {
        self.throttle = throttle
    }

    /// Ends the round: each transfer counts and delivers its bytes.
    func end() {
        guard !transfers.isEmpty else { return }
        for transfer in transfers { transfer.endRound() }
        transfers.removeAll(keepingCapacity: true)
    }
}
