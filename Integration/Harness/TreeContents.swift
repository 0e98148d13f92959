import Foundation
import Glibc
import Testing

/// Directories, and files with their bytes, by path: a tree as a test's model has it.
struct TreeContents: Equatable {
    enum Node: Equatable {
        case directory
        case file([UInt8])
    }

    var nodes: [String: Node] = [:]

    init() {}

    /// The contents of a directory.
    ///
    /// - Parameter name: Skipped at every level.
    init(of root: String, without name: String? = nil) throws {
        try add("", below: root, without: name)
    }

    /// The contents of a bucket below a prefix: a key that ends with a slash is a directory, and so is
    /// all that a key lies in.
    init(of store: ObjectStore, below prefix: String) throws {
        let lines = try store.python(
            """
            import base64
            for page in s3.get_paginator('list_objects_v2').paginate(Bucket=bucket, Prefix=arguments[0]):
                for entry in page.get('Contents', []):
                    key = entry['Key']
                    # How a daemon that was killed tried the store out.
                    if key.startswith(arguments[0] + '.apus-probe-'): continue
                    body = b'' if key.endswith('/') else s3.get_object(Bucket=bucket, Key=key)['Body'].read()
                    print(key[len(arguments[0]):] + '\\t' + base64.b64encode(body).decode())
            """, prefix)
        for line in lines.split(separator: "\n") {
            let parts = line.split(separator: "\t", omittingEmptySubsequences: false)
            let names = parts[0].split(separator: "/").map(String.init)
            for count in names.indices.dropFirst() {
                nodes[names[..<count].joined(separator: "/")] = .directory
            }
            let path = names.joined(separator: "/")
            if path.isEmpty { continue }
            let bytes = Data(base64Encoded: String(parts[1])).map { Array($0) } ?? []
            nodes[path] = parts[0].hasSuffix("/") ? .directory : .file(bytes)
        }
    }

    /// The paths of all directories, without the root.
    var directories: [String] {
        nodes.filter { $0.value == .directory }.keys.sorted()
    }

    var files: [String] {
        nodes.filter { $0.value != .directory }.keys.sorted()
    }

    /// The bytes of a file; nil for a directory, and where nothing is.
    func bytes(of path: String) -> [UInt8]? {
        guard case .file(let bytes)? = nodes[path] else { return nil }
        return bytes
    }

    /// Returns the paths below a directory, the deepest first.
    func paths(below directory: String) -> [String] {
        nodes.keys.filter { $0.hasPrefix(directory + "/") }.sorted().reversed()
    }

    /// POSIX: `rename`, of a file or directory, onto whatever may be replaced.
    mutating func rename(_ path: String, to newPath: String) {
        for below in paths(below: path) {
            nodes[newPath + below.dropFirst(path.count)] = nodes.removeValue(forKey: below)
        }
        nodes[newPath] = nodes.removeValue(forKey: path)
    }

    /// Describes the first few nodes that are missing, different or unexpected.
    func differences(from actual: TreeContents) -> [String] {
        let paths = Set(nodes.keys).union(actual.nodes.keys).sorted()
        let different = paths.compactMap { path -> String? in
            let (expected, found) = (nodes[path], actual.nodes[path])
            guard expected != found else { return nil }
            return "\(path): \(Self.text(expected)) against \(Self.text(found))"
        }
        return Array(different.prefix(20))
    }

    private static func text(_ node: Node?) -> String {
        switch node {
        case nil: "nothing"
        case .directory?: "a directory"
        case .file(let bytes)?: "\(bytes.count) bytes"
        }
    }

    private mutating func add(
        _ directory: String, below root: String, without unwanted: String?
    ) throws {
        for name in try Files.names(in: "\(root)/\(directory)") where name != unwanted {
            let path = directory.isEmpty ? name : "\(directory)/\(name)"
            if try Files.status("\(root)/\(path)").st_mode & S_IFMT == S_IFDIR {
                nodes[path] = .directory
                try add(path, below: root, without: unwanted)
            } else {
                nodes[path] = .file(try Files.read("\(root)/\(path)"))
            }
        }
    }
}
