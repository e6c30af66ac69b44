#!/usr/bin/env bash
# Runs files of nginx's own test suite against a binary: suite.sh BINARY [NAME...]. SUITE names the folder of the suite, which
# is not part of this repository. Without names, the files listed in suite.list. Needs Perl; ports 8000-8999 on loopback.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
binary=$(realpath "${1:?usage: suite.sh BINARY [NAME...]}")
shift
: "${SUITE:?set SUITE to the folder of nginx-tests}"
[ $# -gt 0 ] || mapfile -t names <"$here/suite.list"
[ $# -gt 0 ] && names=("$@")
export TEST_NGINX_BINARY=$binary
# As root the workers' user could not enter the tests' folders.
[ "$(id -u)" = 0 ] && export TEST_NGINX_GLOBALS="user root; ${TEST_NGINX_GLOBALS:-}"
cd "$SUITE" || exit 2
failed=0
for n in "${names[@]}"; do
	# It says of itself that it may leave processes behind: where it fails, those that it started.
	unset TEST_NGINX_UNSAFE
	[ "$n" = binary_upgrade ] && export TEST_NGINX_UNSAFE=1
	if out=$(timeout -k 5 120 prove "$n.t" 2>&1) && ! grep -q 'skipped:' <<<"$out"; then
		echo "$n PASS"
	else
		failed=$((failed + 1))
		echo "$n FAIL"
		sed 's/^/    /' <<<"$out"
	fi
done
echo "${#names[@]} files, $failed failed"
[ $failed = 0 ]
