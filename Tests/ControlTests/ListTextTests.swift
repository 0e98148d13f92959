import Foundation
import Testing

@testable import Control

struct ListTextTests {
    private func item(
        _ path: String, _ state: ListItem.State = .remote, kind: ListItem.Kind = .file
    ) -> ListItem {
        ListItem(path: path, kind: kind, state: state, bytes: 1_536, modified: Sample.start)
    }

    @Test func `a line has the state and the name`() {
        #expect(item("a/b c.txt", .dirty).line(isLong: false) == "dirty            b c.txt")
        #expect(item("a", kind: .directory).line(isLong: false) == "remote           a/")
        #expect(
            item("a/", kind: .directory).line(name: "x/", isLong: false) == "remote           x/")
        var sent = item("film.mov", .uploading)
        sent.percent = 100
        #expect(sent.line(isLong: false) == "uploading 100 %  film.mov")
    }

    @Test func `a line tells what is pinned`() {
        func text(_ state: ListItem.State, _ pin: ListItem.Pin) -> String {
            var item = item("a", state)
            item.pin = pin
            return item.line(isLong: false)
        }
        #expect(text(.local, .itself) == "pinned           a")
        #expect(text(.local, .inherited) == "pinned           a")
        #expect(text(.remote, .inherited) == "remote, pinned   a")
        #expect(text(.partial, .inherited) == "partial, pinned  a")
    }

    @Test func `a long line has size and time, as a table`() throws {
        let utc = try #require(TimeZone(secondsFromGMT: 0))
        let time = Sample.start.formatted(
            .iso8601.year().month().day().dateTimeSeparator(.space)
                .time(includingFractionalSeconds: false))
        #expect(
            item("a").line(isLong: true, timeZone: utc) == "remote             1.5 KiB  \(time)  a")
        #expect(
            item("a", .local, kind: .directory).line(isLong: true, timeZone: utc)
                == "local                    -  \(time)  a/")
    }

    @Test(arguments: [
        ("plain", "plain"), ("it's", "it's"), ("a\nb", "'a'$'\\n''b'"),
        ("\u{1B}[2J", "$'\\033''[2J'"), ("it's\t", "'it'\\''s'$'\\t'"), ("ü\u{7F}", "'ü'$'\\177'"),
    ])
    func `a name cannot control the terminal`(name: String, shown: String) {
        #expect(name.shellEscaped == shown)
    }

    @Test func `its JSON is stable`() throws {
        var page = ListPage(items: [item("a/b", .conflict)], next: "b")
        let json = String(decoding: try ControlJSON.encode(page), as: UTF8.self)
        #expect(json.hasPrefix(#"{"items":[{"bytes":1536,"kind":"file","modified":""#))
        #expect(json.hasSuffix(#"Z","path":"a/b","state":"conflict"}],"next":"b"}"#))
        page.items[0].percent = 3
        let decoded = try ControlJSON.decode(ListPage.self, from: ControlJSON.encode(page))
        #expect(decoded == page)
    }
}
