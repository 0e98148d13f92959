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

let package = Package(
    name: "apus",
    products: [
        .executable(name: "apus", targets: ["apus"]),
        .executable(name: "apus-image-worker", targets: ["apus-image-worker"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
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
        .target(name: "CLinux"),
        .target(name: "CDatabase", linkerSettings: [.linkedLibrary("sqlite3")]),
        .systemLibrary(
            name: "CVips", pkgConfig: "gobject-2.0", providers: [.apt(["libvips-dev"])]),

        .systemLibrary(
            name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),

        .systemLibrary(
            name: "CXML", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),

        // Not `System`: other packages import a module of that name if there is one.
        .target(name: "SystemCalls", dependencies: ["CLinux"], swiftSettings: settings),
        .target(name: "Digests", dependencies: ["CCrypto"], swiftSettings: settings),
        // Not `Metrics`: a package that Hummingbird needs has a target of that name.
        .target(name: "Meters", swiftSettings: settings),

        // The system part.
        .target(
            name: "Engine",
            dependencies: [
                "Digests", "Meters", .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"), log,
            ],
            swiftSettings: settings),

        // What the engine is given: this machine, the clouds, HTTP, and the simulated world.
        .target(
            name: "Host",
            dependencies: [
                "CDatabase", "CLinux", "Engine", "SystemCalls",
            ],
            swiftSettings: settings),
        .target(
            name: "Transport", dependencies: ["CCurl", "CLinux", "Meters", "SystemCalls", log],
            swiftSettings: settings),
        // The clouds, a target each, so that none can refer to another.
        .target(
            name: "ProviderSupport",
            dependencies: [
                "CLinux", "CXML", "Engine", "SystemCalls", "Transport", log,
                .product(name: "TOMLKit", package: "TOMLKit"),
            ],
            path: "Sources/Providers/Support", swiftSettings: settings),
        .target(
            name: "ProviderFolder",
            dependencies: ["CLinux", "Engine", "ProviderSupport", "SystemCalls"],
            path: "Sources/Providers/Folder", swiftSettings: settings),
        .target(
            name: "ProviderWebDAV",
            dependencies: ["Engine", "ProviderSupport", "SystemCalls", "Transport", log],
            path: "Sources/Providers/WebDAV", swiftSettings: settings),
        .target(
            name: "ProviderS3",
            dependencies: [
                "Digests", "Engine", "ProviderSupport", "SystemCalls", "Transport", log,
            ],
            path: "Sources/Providers/S3", swiftSettings: settings),
        .target(
            name: "ProviderRclone",
            dependencies: ["Engine", "ProviderSupport", "SystemCalls", "Transport", log],
            path: "Sources/Providers/Rclone", swiftSettings: settings),
        .target(
            name: "Providers",
            dependencies: [
                "Engine", "ProviderFolder", "ProviderRclone", "ProviderS3", "ProviderSupport",
                "ProviderWebDAV",
            ],
            path: "Sources/Providers/Source", swiftSettings: settings),
        .target(
            name: "CSimulation", dependencies: ["CDatabase"],
            linkerSettings: [.linkedLibrary("sqlite3")]),
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
        .target(
            name: "Mount", dependencies: ["CFuse", "Engine", "Meters", "SystemCalls", log],
            swiftSettings: settings),
        .target(
            name: "Filters", dependencies: ["CLinux", "SystemCalls"], swiftSettings: settings),
        // A program of its own, so that no other process loads libvips.
        .target(
            name: "Rendering", dependencies: ["CLinux", "CVips", "Filters"],
            swiftSettings: settings),
        .executableTarget(
            name: "apus-image-worker", dependencies: ["Rendering", "SystemCalls"],
            path: "Sources/ImageWorker",
            swiftSettings: settings),
        .target(
            name: "Control",
            dependencies: [
                "CLinux", "Meters", "SystemCalls", "Transport", log,
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            // The web page, which is part of the program.
            resources: [.embedInCode("Web/Page")],
            swiftSettings: settings),
        .executableTarget(
            name: "apus",
            dependencies: [
                "CLinux", "Control", "Engine", "Filters", "Host", "Meters", "Mount",
                "ProviderRclone", "ProviderSupport", "Providers", "SystemCalls", "Transport",
                arguments, log,
                .product(name: "TOMLKit", package: "TOMLKit"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            path: "Sources/Command",
            swiftSettings: settings),

        // Tests: no root, no network. The conformance suite is a library of its own, so that the
        // integration tests run it against real servers too.
        .target(name: "TestBytes", path: "Tests/TestBytes", swiftSettings: settings),
        .target(
            name: "ProviderConformance", dependencies: ["Engine", "TestBytes"],
            path: "Tests/ProviderConformance", swiftSettings: settings),
        .target(
            name: "TestServer", dependencies: ["SystemCalls"], path: "Tests/TestServer",
            swiftSettings: settings),
        .testTarget(
            name: "EngineTests",
            dependencies: [
                "Engine", "TestBytes", .product(name: "GRDB", package: "GRDB.swift"), log,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "DigestsTests", dependencies: ["Digests"], swiftSettings: settings),
        .testTarget(
            name: "HostTests",
            dependencies: [
                "CLinux", "Engine", "Host", "Simulation", "SystemCalls", "TestBytes", log,
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
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
            name: "TransportTests",
            dependencies: ["Digests", "Meters", "TestBytes", "TestServer", "Transport", log],
            swiftSettings: settings),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "Engine", "Simulation", "SystemCalls", "TestBytes",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ProvidersTests",
            dependencies: [
                "Digests", "Engine", "Host", "ProviderConformance", "ProviderFolder",
                "ProviderRclone", "ProviderS3", "ProviderSupport", "ProviderWebDAV", "Providers",
                "Simulation", "SystemCalls", "TestBytes", "TestServer", "Transport", log,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FiltersTests",
            dependencies: ["CVips", "Filters", "Rendering", "apus-image-worker"],
            swiftSettings: settings),
        .testTarget(
            name: "ControlTests",
            dependencies: ["Control", "Engine", "Meters", "Transport", "apus", arguments, log],
            swiftSettings: settings),

        // The real thing: `apus` as a process, a real mount, real programs.
        .testTarget(
            name: "Integration",
            dependencies: [
                "CLinux", "Engine", "Host", "ProviderConformance", "ProviderFolder",
                "ProviderRclone", "ProviderS3", "ProviderSupport", "ProviderWebDAV", "Providers",
                "TestBytes", "TestServer", "Transport", log,
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Integration", swiftSettings: settings),
    ]
)
