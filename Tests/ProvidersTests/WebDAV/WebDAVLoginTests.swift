import Synchronization
import Testing
import Transport

@testable import ProviderWebDAV

@Suite struct WebDAVLoginTests {
    private func token(_ pass: WebDAVLogin.Pass) -> String? {
        guard case .bearer(let token) = pass.credentials else { return nil }
        return token
    }

    @Test func `a late refusal of what was replaced is none of what replaced it`() async {
        let count = Mutex(0)
        let login = WebDAVLogin(.bearer("0")) {
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .bearer("\(number)")
        }
        let first = await login.pass()
        login.refuse(first)
        login.refuse(first)
        #expect(token(await login.pass()) == "1")
        login.refuse(first)
        #expect(token(await login.pass()) == "1")
        #expect(count.withLock { $0 } == 1)
    }

    @Test func `while one looks for the new ones, others go on with the old`() async {
        let (asked, tellAsked) = AsyncStream.makeStream(of: Void.self)
        let (answers, answer) = AsyncStream.makeStream(of: HTTPCredentials.self)
        let count = Mutex(0)
        let login = WebDAVLogin(.bearer("old")) {
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            guard isFirst else { return nil }
            tellAsked.yield()
            return await answers.first { _ in true }
        }
        login.refuse(await login.pass())
        let looking = Task { await login.pass() }
        _ = await asked.first { _ in true }
        let other = await login.pass()
        #expect(token(other) == "old")
        login.refuse(other)
        #expect(token(await login.pass()) == "old")
        answer.yield(.bearer("new"))
        #expect(token(await looking.value) == "new")
        #expect(token(await login.pass()) == "new")
        #expect(count.withLock { $0 } == 1)
    }
}
