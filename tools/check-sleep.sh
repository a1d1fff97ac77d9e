#!/usr/bin/env bash
# Tests wait for what they wait for, by a poll with a deadline, or sleep in the
# virtual time of a synctest bubble: time.Sleep has no place in a test file that
# knows no bubble. No linter can tell the two apart.
set -euo pipefail
cd "$(dirname "$0")/.."

sleepers=$(git ls-files -co --exclude-standard '*_test.go' |
	xargs -r grep -lE '\btime\.Sleep\(' | xargs -r grep -L '"testing/synctest"' || true)
if [[ -n $sleepers ]]; then
	echo "time.Sleep in a test outside a synctest bubble:" >&2
	echo "$sleepers" >&2
	exit 1
fi
