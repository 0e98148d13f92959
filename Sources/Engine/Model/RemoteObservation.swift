/// The remote object observed in an inode's place.
enum RemoteObservation: Hashable {
    case gone
    case object(RemoteObject)
}
