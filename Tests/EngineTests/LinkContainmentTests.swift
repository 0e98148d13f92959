import Testing

@testable import Engine

@Suite("Links that lead out of the mount")
struct LinkContainmentTests {
    private let containment = LinkContainment(mountPoint: Array("/mnt/cloud".utf8))

    private func leadsOut(_ target: String, depth: Int = 0) -> Bool {
        containment.depthNeeded(Array(target.utf8)).map { $0 > depth } ?? true
    }

    @Test(arguments: ["a", "a/b", ".", "./a", "..a", "...", "a//b/", "a/..b"])
    func `a target below its own directory stays inside`(target: String) {
        #expect(!leadsOut(target))
    }

    @Test
    func `as many steps up as there are directories stay inside, and one more does not`() {
        #expect(!leadsOut("..", depth: 1))
        #expect(leadsOut("..", depth: 0))
        #expect(!leadsOut("../../a", depth: 2))
        #expect(!leadsOut(".././..//a", depth: 2))
        #expect(leadsOut("../../../a", depth: 2))
        #expect(leadsOut("./../a", depth: 0))
    }

    @Test
    func `a step up after a name leads out, since the name may be a link`() {
        #expect(leadsOut("a/../b", depth: 5))
        #expect(leadsOut("../a/..", depth: 5))
        #expect(leadsOut("/mnt/cloud/a/..", depth: 5))
    }

    @Test(arguments: [
        "/", "//", "/etc/passwd", "/mnt", "/mnt/", "/mnt/cloudy", "/mnt/cloud/..",
        "/mnt/../mnt/cloud", "/mnt/cloud/a/../../..",
    ])
    func `an absolute target elsewhere leads out`(target: String) {
        #expect(leadsOut(target, depth: 9))
    }

    @Test(arguments: ["/mnt/cloud", "/mnt/cloud/", "//mnt/./cloud//a/b", "/mnt/cloud/..a"])
    func `an absolute target below the mount point stays inside`(target: String) {
        #expect(!leadsOut(target))
    }

    @Test
    func `every absolute target leads out where the mount point is not known`() {
        #expect(LinkContainment(mountPoint: nil).depthNeeded(Array("/".utf8)) == nil)
    }

    /// Goal: no chain of contained links gets out, whatever the names are links to.
    ///
    /// Method: all trees of two directories with links among targets that pass the rule, resolved as
    /// the kernel does; none may climb over the root.
    @Test
    func `links that stay inside by the rule do so together, too`() {
        let parts = ["..", "a", "b", "."]
        var targets: [[String]] = parts.map { [$0] }
        for _ in 1...2 { targets += targets.flatMap { target in parts.map { target + [$0] } } }
        // Places: 0 is the root, 1 the directory a, 2 the directory a/a. b is a link in each.
        let allowed = (0...2).map { depth in
            targets.filter { !leadsOut($0.joined(separator: "/"), depth: depth) }
        }
        var resolved = 0
        for (first, second) in allowed[1].flatMap({ one in allowed[2].map { (one, $0) } }) {
            let links = [["a"], first, second]
            for start in 0...2 {
                var budget = 40
                #expect(walk(links[start], from: start, links, &budget))
                resolved += 1
            }
        }
        #expect(resolved > 1000)
    }

    /// - Returns: false if the path climbs over the root.
    private func walk(
        _ path: [String], from start: Int, _ links: [[String]], _ budget: inout Int
    ) -> Bool {
        var place = start
        return step(path, &place, links, &budget)
    }

    private func step(
        _ path: [String], _ place: inout Int, _ links: [[String]], _ budget: inout Int
    ) -> Bool {
        for part in path {
            switch part {
            case ".": continue
            case "..":
                if place == 0 { return false }
                place -= 1
            case "a":
                // Nothing lies deeper; the kernel says that it is not there.
                if place == 2 { return true }
                place += 1
            default:
                budget -= 1
                if budget < 0 { return true }
                if !step(links[place], &place, links, &budget) { return false }
            }
        }
        return true
    }
}
