/// What the remote was seen to hold in an inode's place.
enum RemoteObservation: Hashable {
    case gone
    case object(RemoteObject)
}
