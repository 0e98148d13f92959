# Builds Apus on a Swift image and runs it on a slim Debian with only the libraries it needs.
#
#   docker build -t apus .
#   docker run --rm --device /dev/fuse --cap-add SYS_ADMIN -v /srv/cloud:/cloud apus

FROM swift:6.3-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        libcurl4-openssl-dev libfuse3-dev libsqlite3-dev libssl-dev libvips-dev libxml2-dev \
        pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /apus
# The dependencies first: they change less often than the sources.
COPY Package.* ./
RUN swift package resolve
COPY . .
RUN swift build -c release --product apus --static-swift-stdlib \
    && install -D --strip .build/release/apus /out/usr/local/bin/apus

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        ca-certificates fuse3 libcurl4 libfuse3-3 libsqlite3-0 libssl3 libvips42 libxml2 tini \
    && rm -rf /var/lib/apt/lists/* \
    && mkdir -p /cloud /mnt/apus
COPY --from=build /out/ /
COPY LICENSE /usr/local/share/doc/apus/LICENSE
# What is not uploaded yet lives here; without a volume it goes with the container.
VOLUME /var/lib/apus
# `tini` passes SIGTERM on, so that `docker stop` lets the daemon unmount.
ENTRYPOINT ["tini", "--", "apus"]
CMD ["mount", "folder:/cloud", "/mnt/apus", "--foreground", "--state-dir", "/var/lib/apus/cloud"]
