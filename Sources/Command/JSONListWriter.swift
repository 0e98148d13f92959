import Control

/// Writes a JSON list piece by piece, with an element a line.
struct JSONListWriter {
    private var isEmpty = true

    mutating func write(_ elements: [some Encodable]) {
        let lines = elements.compactMap { element in
            (try? ControlJSON.encode(element)).map { String(decoding: $0, as: UTF8.self) }
        }
        guard !lines.isEmpty else { return }
        Console.write((isEmpty ? "[\n" : ",\n") + lines.joined(separator: ",\n"))
        isEmpty = false
    }

    func finish() { Console.printLine(isEmpty ? "[]" : "\n]") }
}
