# shellcheck shell=sh
# What Install, Remove and the other scripts share. To be sourced in the checkout's folder,
# $top; $prog is the name that messages begin with.

say() { printf '%s\n' "$*"; }
warn() { printf '%s: %s\n' "$prog" "$*" >&2; }
die() {
	warn "$@"
	exit 1
}

need_root() {
	[ "$(id -u)" -eq 0 ] || die "must be run as root: sudo $prog"
}

# load_pcp reads PCP's own account of where things are, and fails if there is no PCP.
# What it sets is the only source of paths: they differ between distributions.
load_pcp() {
	[ -r "${PCP_DIR:-}/etc/pcp.env" ] || return 1
	set +u
	# shellcheck source=/dev/null
	. "${PCP_DIR:-}/etc/pcp.env"
	set -u
	[ -x "$PCP_BINADM_DIR/pmcd" ] || return 1
	# Releases that keep everything in one folder have no second name for it.
	: "${PCP_PMDASADM_DIR:=$PCP_PMDAS_DIR}"
}

# systemd_runs succeeds if systemd runs this machine. In a container it may be installed and
# not run.
systemd_runs() { [ -d /run/systemd/system ]; }

# agent_name prints the name under which pmcd knows the agent of a folder.
agent_name() { sed -n 's/^iam=//p' "$1/Install"; }

# agent_names prints the subtrees of the name space that the agent of a folder has.
agent_names() {
	names=$(sed -n 's/^pmns_name=//p' "$1/Install" | tr -d '"')
	say "${names:-$(agent_name "$1")}"
}

# all_agents prints the folders that hold an agent, relative to the checkout, whose
# own path may have blanks in it.
all_agents() {
	for dir in pmdas/*; do
		if [ -f "$dir/Install" ] && [ -f "$dir/domain.h" ]; then
			say "$dir"
		fi
	done
}

# select_agents prints the folders of the agents asked for, by the name of the folder
# or of the agent; without arguments, of all.
select_agents() {
	[ $# -gt 0 ] || {
		all_agents
		return
	}
	for want in "$@"; do
		found=
		for dir in $(all_agents); do
			case $want in
			"$(basename "$dir")" | "$(agent_name "$dir")") found=$dir ;;
			esac
		done
		if [ -z "$found" ]; then
			warn "no agent is called $want; there are: $(known_agents)"
			return 1
		fi
		say "$found"
	done
}

known_agents() {
	for dir in $(all_agents); do
		printf '%s (%s) ' "$(agent_name "$dir")" "$(basename "$dir")"
	done
}
