import Testing

@testable import Engine

@Suite("The course of a listing")
struct ListingCourseTests {
    @Test func `a long listing with some empty pages is none without end`() throws {
        var course = ListingCourse(entriesMax: 10_000, at: .zero)
        for number in 0..<10_000 {
            try course.take(newNames: number % 50 == 0 ? 50 : 0, isLast: false)
        }
        try course.take(newNames: 0, isLast: true)
    }

    @Test func `pages with nothing new are no listing`() throws {
        var course = ListingCourse(entriesMax: 10_000, at: .zero)
        try course.take(newNames: 1, isLast: false)
        for _ in 1..<ListingCourse.idlePagesMax { try course.take(newNames: 0, isLast: false) }
        let error = #expect(throws: ProviderError.self) {
            try course.take(newNames: 0, isLast: false)
        }
        #expect(error?.kind == .corrupt)
    }

    @Test func `more entries than the bound are refused, also in the last page`() throws {
        var course = ListingCourse(entriesMax: 10, at: .zero)
        try course.take(newNames: 10, isLast: false)
        let error = #expect(throws: ProviderError.self) {
            try course.take(newNames: 1, isLast: true)
        }
        #expect(error?.kind == .unsupported)
    }

    @Test func `its length is told at a million entries, and at each doubling`() throws {
        var course = ListingCourse(entriesMax: 10_000_000, at: .zero)
        var told: [Int] = []
        for number in 0..<50 {
            try course.take(newNames: 100_000, isLast: false)
            if course.takeLength(at: .seconds(number)) != nil { told.append(course.entries) }
        }
        #expect(told == [1_000_000, 2_000_000, 4_000_000])
    }

    @Test func `its length is told after five minutes, and at each doubling`() throws {
        var course = ListingCourse(entriesMax: 10_000_000, at: .seconds(1_000))
        var told: [Duration] = []
        for number in 0..<40 {
            try course.take(newNames: 1, isLast: false)
            if let length = course.takeLength(at: .seconds(1_000 + number * 60)) {
                told.append(length)
            }
        }
        #expect(told == [.seconds(300), .seconds(600), .seconds(1_200)])
    }
}
