# Builds the Debian package on a Swift image, and installs it on a slim Debian, with just the libraries that
# it depends on.
#
#   docker build -t apus .
#   docker run --rm --device /dev/fuse --cap-add SYS_ADMIN -v /srv/cloud:/cloud apus

FROM swift:6.3-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        binutils dpkg-dev git libcurl4-openssl-dev libfuse3-dev libsqlite3-dev libssl-dev \
        libvips-dev libxml2-dev make pkg-config python3 \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /apus
# The dependencies first: they change less often than the sources.
COPY Package.* ./
RUN swift package resolve
COPY . .
# Without the repository, which tells author and date otherwise.
RUN DEBFULLNAME=Apus DEBEMAIL=apus@localhost SOURCE_DATE_EPOCH=$(date +%s) make deb

FROM debian:bookworm-slim
RUN --mount=type=bind,from=build,source=/apus/.build/packages,target=/packages \
    apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates tini /packages/apus_*.deb \
    && rm -rf /var/lib/apt/lists/* \
    && mkdir -p /cloud /mnt/apus
# What is not uploaded yet lives here; without a volume it goes with the container.
VOLUME /var/lib/apus
# `tini` passes SIGTERM on, so that `docker stop` lets the daemon upload and unmount.
ENTRYPOINT ["tini", "--", "apus"]
CMD ["mount", "folder:/cloud", "/mnt/apus", "--foreground", "--stop-timeout", "50s", "--state-dir", "/var/lib/apus/cloud"]
