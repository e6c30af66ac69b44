#!/bin/sh
# Builds the Debian package into a folder: build.sh FOLDER [ARCH]. It needs a Go toolchain and the modules of this folder.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
ARCH=${2:-$(go env GOARCH)}
VERSION=$(sed -n 's/^const version = "\(.*\)"$/\1/p' "$top/cmd/limitgate/version.go")
ROOT=$out/root
export ARCH VERSION ROOT
rm -rf "$ROOT"
mkdir -p "$ROOT/man" "$ROOT/completion"
cd "$top"
# The tools of the host write what is the same everywhere; the program is for ARCH.
go build -o "$ROOT/host" ./cmd/limitgate
CGO_ENABLED=0 GOOS=linux GOARCH=$ARCH go build -trimpath -ldflags "-s -w" -o "$ROOT/limitgate" ./cmd/limitgate
"$ROOT/host" man "$ROOT/man"
gzip -9n "$ROOT"/man/*.8
"$ROOT/host" completion bash > "$ROOT/completion/limitgate.bash"
"$ROOT/host" completion zsh > "$ROOT/completion/_limitgate"
"$ROOT/host" completion fish > "$ROOT/completion/limitgate.fish"
rm "$ROOT/host"
cd "$here"
go tool nfpm pkg --packager deb --config nfpm.yaml --target "$out"
