# shellcheck shell=sh
# Packages of the machine's own package manager. To be sourced after common.sh.

# with_stub_systemctl runs a command so that package scripts find a systemctl that
# succeeds and does nothing. Where systemd is not running the real one fails, or is
# not there, and the scripts of Debian's package pcp fail with it. apt gives package
# scripts a path of its own, so PATH alone does not reach them.
with_stub_systemctl() {
	if systemd_runs; then
		"$@"
		return
	fi
	stub=$(mktemp -d) || return 1
	printf '#!/bin/sh\nexit 0\n' >"$stub/systemctl"
	chmod 755 "$stub" "$stub/systemctl"
	PATH=$stub:$PATH "$@"
	code=$?
	rm -rf "$stub"
	return $code
}

apt() {
	DEBIAN_FRONTEND=noninteractive apt-get -y -q -o DPkg::Path="$PATH" -o DPkg::Use-Pty=0 \
		-o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold "$@" </dev/null
}

apt_install() {
	# The lists are fetched only if they are needed: they may be absent, or name
	# versions that the archive no longer has.
	apt install "$@" || { apt update && apt install "$@"; }
}

# install_packages installs packages by the names that the function of the same
# machine gives them. dnf and zypper follow their manuals; they are not tested.
install_packages() {
	if command -v apt-get >/dev/null; then
		with_stub_systemctl apt_install "$@"
	elif command -v dnf >/dev/null; then
		say "dnf: this way of installing packages has not been tested"
		with_stub_systemctl dnf -y install "$@" </dev/null
	elif command -v zypper >/dev/null; then
		say "zypper: this way of installing packages has not been tested"
		with_stub_systemctl zypper --non-interactive install "$@" </dev/null
	else
		warn "no package manager found (apt-get, dnf, zypper): install $* yourself"
		return 1
	fi
}

# half_installed reports a package whose installation broke off, as dpkg sees it. PCP that
# was built from its sources is not a package and counts as whole.
half_installed() {
	command -v dpkg-query >/dev/null || return 1
	# shellcheck disable=SC2016 # dpkg-query's variable, not the shell's
	case $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) in
	'' | installed | not-installed | config-files) return 1 ;;
	esac
}

# install_pcp installs PCP unless it is there, and reads where it put things.
install_pcp() {
	if load_pcp && ! half_installed pcp; then
		return 0
	fi
	say "== installing PCP"
	install_packages pcp || die "PCP could not be installed"
	load_pcp || die "PCP is installed, but /etc/pcp.env or pmcd is missing"
	# Some distributions do not start what they install when the machine starts.
	! systemd_runs || systemctl enable pmcd
}

compiler_works() {
	command -v make >/dev/null &&
		printf '#include <stdio.h>\nint main(void) { return puts("") < 0; }\n' |
		"${CC:-cc}" -x c -o /dev/null - 2>/dev/null
}

# install_compiler installs a C compiler and make unless they are there.
install_compiler() {
	compiler_works && return 0
	say "== installing a C compiler"
	libc=glibc-devel
	! command -v apt-get >/dev/null || libc=libc6-dev
	install_packages gcc make "$libc" && compiler_works ||
		die "the libraries need a C compiler and make: install them, or leave the libraries out by --no-libraries"
}
