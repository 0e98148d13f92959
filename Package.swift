// swift-tools-version: 6.2
import PackageDescription

/// CI turns warnings into errors; a developer's build only shows them.
let strictness: [SwiftSetting] =
    Context.environment["CI"] == nil ? [] : [.treatAllWarnings(as: .error)]

let settings: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ] + strictness

let log = Target.Dependency.product(name: "Logging", package: "swift-log")
let arguments = Target.Dependency.product(
    name: "ArgumentParser", package: "swift-argument-parser")

let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")

let package = Package(
    name: "apus",
    products: [.executable(name: "apus", targets: ["apus"])],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/LebJe/TOMLKit", from: "0.6.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // C edges: a module map each, and wrappers for what Swift cannot import.
        .systemLibrary(
            name: "CFuse", pkgConfig: "fuse3", providers: [.apt(["libfuse3-dev"])]),
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(
            name: "CVips", pkgConfig: "gobject-2.0", providers: [.apt(["libvips-dev"])]),

        .systemLibrary(name: "CHost"),

        .systemLibrary(name: "CFolder"),

        .systemLibrary(name: "CProcess"),

        .systemLibrary(
            name: "CXML", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),

        // The system part.
        .target(
            name: "Engine",
            dependencies: [.product(name: "GRDB", package: "GRDB.swift"), crypto, log],
            swiftSettings: settings),

        // What the engine is given: this machine, the clouds, HTTP, and the simulated world.
        .target(
            name: "Host", dependencies: ["CHost", "CLinux", "Engine"], swiftSettings: settings),
        .target(name: "Transport", dependencies: ["CCurl", log], swiftSettings: settings),
        // The clouds, a target each, so that none can refer to another.
        .target(
            name: "ProviderSupport",
            dependencies: [
                "CFolder", "CLinux", "CProcess", "CXML", "Engine", "Transport", log,
                .product(name: "TOMLKit", package: "TOMLKit"),
            ],
            path: "Sources/Providers/Support", swiftSettings: settings),
        .target(
            name: "ProviderFolder",
            dependencies: ["CFolder", "CLinux", "Engine", "ProviderSupport"],
            path: "Sources/Providers/Folder", swiftSettings: settings),
        .target(
            name: "ProviderWebDAV",
            dependencies: ["CLinux", "Engine", "ProviderSupport", "Transport", crypto, log],
            path: "Sources/Providers/WebDAV", swiftSettings: settings),
        .target(
            name: "ProviderS3",
            dependencies: ["CLinux", "Engine", "ProviderSupport", "Transport", crypto, log],
            path: "Sources/Providers/S3", swiftSettings: settings),
        .target(
            name: "ProviderRclone",
            dependencies: ["CLinux", "Engine", "ProviderSupport", "Transport", crypto, log],
            path: "Sources/Providers/Rclone", swiftSettings: settings),
        .target(
            name: "Providers",
            dependencies: [
                "Engine", "ProviderFolder", "ProviderRclone", "ProviderS3", "ProviderSupport",
                "ProviderWebDAV",
            ],
            path: "Sources/Providers/Source", swiftSettings: settings),
        .target(
            name: "CSimulation", linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(
            name: "Simulation",
            dependencies: [
                "CSimulation", "Engine", .product(name: "GRDB", package: "GRDB.swift"), log,
            ],
            swiftSettings: settings),

        // Runs simulated mounts by the thousand; see `make soak`.
        .executableTarget(
            name: "soak", dependencies: ["Engine", "Simulation", arguments], path: "Sources/Soak",
            swiftSettings: settings),

        // What the user meets.
        .target(name: "Mount", dependencies: ["CFuse", "Engine", log], swiftSettings: settings),
        .target(name: "Filters", dependencies: ["CVips"], swiftSettings: settings),
        .target(
            name: "Control",
            dependencies: [
                "CLinux", "Transport", log,
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "apus",
            dependencies: [
                "CLinux", "Control", "Engine", "Filters", "Host", "Mount", "ProviderSupport",
                "Providers", "Transport", arguments, log,
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            path: "Sources/Command",
            swiftSettings: settings),

        // Tests: no root, no network. The conformance suite is a library of its own, so that the
        // integration tests run it against real servers too.
        .target(
            name: "ProviderConformance", dependencies: ["Engine"],
            path: "Tests/ProviderConformance", swiftSettings: settings),
        .target(name: "TestServer", path: "Tests/TestServer", swiftSettings: settings),
        .testTarget(
            name: "EngineTests",
            dependencies: ["Engine", .product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: settings),
        .testTarget(
            name: "HostTests", dependencies: ["CHost", "Engine", "Host", "Simulation"],
            swiftSettings: settings),
        .testTarget(
            name: "CheckTests",
            dependencies: [
                "Engine", "Host", "Simulation", .product(name: "GRDB", package: "GRDB.swift"), log,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "MountTests", dependencies: ["CFuse", "Engine", "Mount", "Simulation", log],
            swiftSettings: settings),
        .testTarget(
            name: "TransportTests", dependencies: ["TestServer", "Transport", crypto, log],
            swiftSettings: settings),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "Engine", "Simulation", .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ProvidersTests",
            dependencies: [
                "Engine", "Host", "ProviderConformance", "ProviderFolder", "ProviderRclone",
                "ProviderS3", "ProviderSupport", "ProviderWebDAV", "Providers", "Simulation",
                "TestServer", "Transport", log,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FiltersTests", dependencies: ["CVips", "Filters"], swiftSettings: settings),
        .testTarget(
            name: "ControlTests", dependencies: ["Control", "Transport", "apus", log],
            swiftSettings: settings),

        // The real thing: `apus` as a process, a real mount, real programs.
        .testTarget(
            name: "Integration",
            dependencies: [
                "CLinux", "Engine", "Host", "ProviderConformance", "ProviderFolder",
                "ProviderRclone", "ProviderS3", "ProviderSupport", "ProviderWebDAV", "Providers",
                "TestServer", "Transport", log,
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Integration", swiftSettings: settings),
    ]
)
