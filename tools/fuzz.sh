#!/usr/bin/env bash
# Runs every fuzz target of the root module for the time given, one after the
# other: `go test -fuzz` takes one target of one package at a time. Further
# arguments go to `go test`, such as -parallel 1 on a machine that others use.
# Inputs are made smaller for ten runs at most: for longer that eats the time
# given.
set -euo pipefail
cd "$(dirname "$0")/.."
fuzztime=${1:?usage: tools/fuzz.sh DURATION [GO-TEST-FLAG...]}
shift

count=0
while IFS=: read -r file target; do
	echo "fuzz: $target in $(dirname "$file") for $fuzztime"
	go test -run '^$' -fuzz "^${target}\$" -fuzztime "$fuzztime" -fuzzminimizetime 10x "$@" "./$(dirname "$file")"
	count=$((count + 1))
done < <(git ls-files -co --exclude-standard '*_test.go' ':!test/' ':!tools/' |
	xargs -r grep -HoE '^func Fuzz[A-Za-z0-9_]*' | sed 's/:func /:/')
echo "fuzz: $count targets held"
