import Testing

/// The things that happen to the user of docs/guide.md between commands, by their names there.
enum GuideEvent: String {
    case serverGoes = "the server goes away"
    case serverIsBack = "the server is back"
    case password = "the password is changed"
    case letter = "a letter is written"
    case conflict = "the letter is changed here and on another computer"
    case daemonDies = "the daemon is killed"
    case powerCut = "the machine is switched off and on"
    case archiveGoes = "the archive is deleted on the server"
    case planGoes = "the plan is deleted on the server"
    case newMachine = "we sit at the new machine"

    func happen(in world: GuideWorld) throws {
        let folder = world.server.folder
        switch self {
        case .serverGoes: try world.server.kill()
        case .serverIsBack: try world.server.restart()
        case .password: try world.changePassword(to: "NEW-PASSWORD")
        case .letter: try world.require("echo 'Dear landlord,' > ~/Cloud/Documents/draft.txt")
        case .conflict:
            // An open file keeps its version, so that the change is one of that version for certain.
            try world.require(
                """
                exec 9>> ~/Cloud/Documents/letter.txt
                echo 'Dear customs office,' > "$1/Documents/letter.new"
                mv "$1/Documents/letter.new" "$1/Documents/letter.txt"
                echo 'Yours, Anna' >&9
                """, folder)
        case .daemonDies: try world.killDaemon()
        case .powerCut:
            try world.killDaemon()
            try world.require("umount -l ~/Cloud")
        case .archiveGoes:
            try world.require(
                """
                mkdir ~/Cloud/Archive
                for number in {1..200}; do echo $number > ~/Cloud/Archive/$number.txt; done
                apus sync ~/Cloud
                rm -r "$1/Archive"
                """, folder)
        case .planGoes:
            try world.require(
                "cat ~/Cloud/Documents/plan.txt && rm \"$1/Documents/plan.txt\"", folder)
        case .newMachine: try world.moveToNewMachine()
        }
    }
}
