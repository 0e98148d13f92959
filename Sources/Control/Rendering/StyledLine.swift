/// A line for a terminal, of parts with colours.
struct StyledLine {
    /// In the terminal's own palette, so that they suit its background.
    enum Colour: Int {
        case good = 32
        case wait = 33
        case bad = 31
        case busy = 36
        case muted = 90
    }

    private struct Part {
        let text: String
        let colour: Colour?
    }

    private var parts: [Part] = []

    init(_ text: String = "", _ colour: Colour? = nil) {
        append(text, colour)
    }

    mutating func append(_ text: String, _ colour: Colour? = nil) {
        if !text.isEmpty { parts.append(Part(text: text.singleLine, colour: colour)) }
    }

    var width: Int { parts.reduce(0) { $0 + $1.text.width } }

    /// Returns the line in at most `columns` columns.
    func text(columns: Int, isColoured: Bool) -> String {
        var (room, text) = (columns, "")
        for part in parts where room > 0 {
            let shown = part.text.cut(to: room)
            room -= shown.width
            if isColoured, let colour = part.colour {
                text += "\u{1B}[\(colour.rawValue)m\(shown)\u{1B}[0m"
            } else {
                text += shown
            }
        }
        return text
    }
}

extension StyledLine {
    static func + (left: StyledLine, right: StyledLine) -> StyledLine {
        var line = left
        line.parts += right.parts
        return line
    }
}
