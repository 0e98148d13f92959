# The commands of this project; `make help` lists them. SWIFTFLAGS goes to every swift call.
SHELL := /bin/bash
export PREFIX DESTDIR HELPERDIR ZSHDIR
SOURCES := Package.swift Sources Tests Integration $(if $(wildcard Benchmarks/*.swift Benchmarks/*/*.swift),Benchmarks)

# With Swift's libraries in it, a program needs no toolchain where it runs.
RELEASE := swift build -c release --static-swift-stdlib $(SWIFTFLAGS)

.PHONY: help setup build test soak soak-bugs demo images bench lint format clean
.PHONY: install uninstall deb dist package-test

help: ## Shows this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

setup: ## Installs the system packages that are missing
	@scripts/setup

PROGRAMS := apus apus-image-worker

build: ## Builds apus and its image worker in .build/release, and beside them NAME.debug for backtraces and debuggers
	@scripts/setup --build
	set -e; for program in $(PROGRAMS); do $(RELEASE) --product $$program; done
	@cd .build/release && for program in $(PROGRAMS); do \
		if readelf --sections $$program | grep -q debug_info; then \
			objcopy --only-keep-debug $$program $$program.debug && \
			objcopy --strip-all --add-gnu-debuglink=$$program.debug $$program; fi; done

install: ## Installs what `make build` has made, below DESTDIR and PREFIX=/usr/local
	@packaging/install install

uninstall: ## Removes that; mounts and states stay
	@packaging/install uninstall

deb: build ## Builds .build/packages/apus_*.deb, for the release of Debian or Ubuntu that runs here
	@packaging/build-deb

dist: build ## Packs what `make install` installs into .build/packages/apus-*.tar.gz
	@packaging/build-dist

package-test: deb dist ## Tries the package and the archive in a new root of that release
	@packaging/test-deb

test: ## Runs all tests, mounted ones JOBS=… at a time; ends with "N passed, N failed"
	@scripts/test

soak: ## Simulates fresh seeds for SECONDS=…, COUNT=… seeds from FIRST=… on, or SEED=… again; SCENARIO=…
	@scripts/setup --build
	$(RELEASE) --product soak
	.build/release/soak --seconds $(or $(SECONDS),60) $(if $(SEED),--seed $(SEED)) \
		$(if $(FIRST),--first $(FIRST)) $(if $(COUNT),--count $(COUNT)) $(if $(SCENARIO),--scenario $(SCENARIO))

soak-bugs: ## Puts bugs into a copy of the engine, and shows how soon the simulation finds each
	@scripts/setup --build
	SWIFTFLAGS="$(SWIFTFLAGS)" scripts/soak-bugs

demo: ## Turns a folder of photos sepia on a mounted cloud; PHOTOS=DIR for your own
	@scripts/demo

images: ## Makes the pictures of the web page in docs/images anew
	@scripts/setup
	swift build --build-tests $(SWIFTFLAGS)
	APUS_IMAGES=$(CURDIR)/docs/images \
		"$$(swift build --show-bin-path $(SWIFTFLAGS))/apusPackageTests.xctest" \
		--testing-library swift-testing --filter 'Pictures of the web page'

bench: build ## Times Apus beside rclone and s3fs on far servers; BENCHFLAGS=--quick for less
	@scripts/setup
	@Benchmarks/bench $(BENCHFLAGS)

lint: ## Checks layout and style, and that the deliberate bugs still apply
	swift format lint --strict --parallel --recursive $(SOURCES)
	git apply --check --unidiff-zero Tests/Bugs/*.patch

format: ## Settles the layout of all Swift files
	swift format --in-place --parallel --recursive $(SOURCES)

clean: ## Removes what was built
	swift package clean
