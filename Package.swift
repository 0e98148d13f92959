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
    products: [.executable(name: "apus", targets: ["apus"])],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    ],
    targets: [
        // C edges: a module map each, and wrappers for what Swift cannot import.
        .systemLibrary(
            name: "CFuse", pkgConfig: "fuse3", providers: [.apt(["libfuse3-dev"])]),
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(
            name: "CVips", pkgConfig: "gobject-2.0", providers: [.apt(["libvips-dev"])]),

        .systemLibrary(name: "CHost"),

        // The system part.
        .target(
            name: "Engine",
            dependencies: [.product(name: "GRDB", package: "GRDB.swift"), log],
            swiftSettings: settings),

        // What the engine is given: this machine, the clouds, HTTP, and the simulated world.
        .target(name: "Host", dependencies: ["CHost", "Engine"], swiftSettings: settings),
        .target(name: "Transport", dependencies: ["CCurl"], swiftSettings: settings),
        .target(name: "Providers", dependencies: ["Engine", log], swiftSettings: settings),
        .target(name: "Simulation", dependencies: ["Engine"], swiftSettings: settings),

        // What the user meets.
        .target(name: "Mount", dependencies: ["CFuse", "Engine", log], swiftSettings: settings),
        .target(name: "Filters", dependencies: ["CVips"], swiftSettings: settings),
        .target(
            name: "Control",
            dependencies: [
                "Transport", log,
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "apus",
            dependencies: [
                "Control", "Engine", "Filters", "Host", "Mount", "Providers", arguments, log,
            ],
            path: "Sources/Command",
            swiftSettings: settings),

        // Tests: no root, no network. The conformance suite is a library of its own, so that the
        // integration tests run it against real servers too.
        .target(
            name: "ProviderConformance", dependencies: ["Engine"],
            path: "Tests/ProviderConformance", swiftSettings: settings),
        .testTarget(name: "EngineTests", dependencies: ["Engine"], swiftSettings: settings),
        .testTarget(
            name: "HostTests", dependencies: ["Engine", "Host"], swiftSettings: settings),
        .testTarget(
            name: "SimulationTests", dependencies: ["Engine", "Host", "Simulation"],
            swiftSettings: settings),
        .testTarget(
            name: "ProvidersTests",
            dependencies: ["Engine", "Host", "ProviderConformance", "Providers", "Simulation"],
            swiftSettings: settings),
        .testTarget(
            name: "FiltersTests", dependencies: ["CVips", "Filters"], swiftSettings: settings),
        .testTarget(name: "ControlTests", dependencies: ["Control"], swiftSettings: settings),

        // The real thing: `apus` as a process, a real mount, real programs.
        .testTarget(
            name: "Integration", path: "Integration", swiftSettings: settings),
    ]
)
