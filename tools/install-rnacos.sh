#!/usr/bin/env bash
# Builds r-nacos, the registry of others that the tests in test/rnacos meet, once,
# into the user's cache, where they find it. It needs Rust's cargo and a C
# compiler, and takes about 7 minutes on two cores. Without it those tests are
# skipped.
#
# What is built is for tests: the optimisations that take longest are left out.
set -euo pipefail

version=0.8.8
root=${XDG_CACHE_HOME:-$HOME/.cache}/rollcall/rnacos

export CARGO_PROFILE_RELEASE_OPT_LEVEL=1
export CARGO_PROFILE_RELEASE_LTO=off
export CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
export CARGO_PROFILE_RELEASE_DEBUG=false
cargo install rnacos --version "$version" --locked --root "$root"
"$root/bin/rnacos" --version
