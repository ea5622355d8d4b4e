# shellcheck shell=sh
# Building an agent from the checkout. To be sourced after common.sh.

# find_go puts Go on the path. sudo takes a path of its own, so the usual places are
# searched, and the path of whoever called sudo.
find_go() {
	owner=$(stat -c %U "$top")
	if ! command -v go >/dev/null; then
		for dir in /usr/local/go/bin /usr/lib/go/bin /usr/lib/golang/bin "$(owner_go)"; do
			[ ! -x "$dir/go" ] || PATH=$PATH:$dir
		done
	fi
	command -v go >/dev/null ||
		die "Go is needed to build the agents and was not found: install it from https://go.dev/dl/ into /usr/local/go"
	want=$(sed -n 's/^go \([0-9]*\.[0-9]*\).*/\1/p' "$top/go.mod")
	have=$(cd / && go version | sed 's/^go version go\([0-9]*\.[0-9]*\).*/\1/')
	# Since 1.21 Go fetches the release that go.mod wants; before that it gives up.
	oldest=$(printf '%s\n1.21\n' "$have" | sort -V | head -n 1)
	[ "$oldest" = 1.21 ] || die "Go $have is too old: install Go $want from https://go.dev/dl/ into /usr/local/go"
}

# owner_go prints the folder of the Go that the checkout's owner uses.
owner_go() {
	[ "$owner" != root ] || return 0
	found=$(runuser -l "$owner" -c 'command -v go' 2>/dev/null </dev/null) && dirname "$found"
}

# as_owner runs a command as the checkout's owner, so that no file of root's appears
# in the checkout or in the owner's caches.
as_owner() {
	home=$(getent passwd "$owner" | cut -d: -f6)
	if [ "$owner" = root ] || [ "$owner" = UNKNOWN ]; then
		env HOME="${HOME:-${home:-/root}}" "$@"
	else
		runuser -u "$owner" -- env HOME="$home" PATH="$PATH" "$@"
	fi
}

# build_agent DIR NAME STAGE builds an agent and has it write the files that belong
# beside it, all into STAGE/out.
build_agent() {
	mkdir "$3/out" || return 1
	chmod 755 "$3"
	chown "$owner" "$3/out" 2>/dev/null
	as_owner env CGO_ENABLED=0 go build -trimpath -buildvcs=false -o "$3/out/pmda$2" "./$1" || return 1
	as_owner "$3/out/pmda$2" --write "$3/out" || return 1
	# Drafts, which the agents here have finished.
	rm -rf "$3/out/pmlogconf" "$3/out/pmrep" "$3/out/pmda$2.1"
}
