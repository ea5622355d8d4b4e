# shellcheck shell=sh
# pmcd: is it running, start it, ask it. To be sourced after common.sh and load_pcp.

pmcd_answers() { pmprobe -v pmcd.version >/dev/null 2>&1; }

# start_pmcd starts pmcd unless it answers, by systemd or by PCP's own script.
start_pmcd() {
	pmcd_answers && return 0
	say "== starting pmcd"
	log=$(mktemp) || return 1
	if systemd_runs; then
		systemctl start pmcd </dev/null >"$log" 2>&1
	else
		PCPQA_SYSTEMD=no "$PCP_RC_DIR/pmcd" start </dev/null >"$log" 2>&1
	fi
	for _ in $(seq 60); do
		if pmcd_answers; then
			rm -f "$log"
			return 0
		fi
		sleep 1
	done
	cat "$log" >&2
	rm -f "$log"
	warn "pmcd does not answer; see $PCP_LOG_DIR/pmcd/pmcd.log"
	return 1
}

# in_pmcd_conf reports whether pmcd is configured to run an agent.
in_pmcd_conf() { awk -v n="$1" '$1 == n { f = 1 } END { exit !f }' "$PCP_PMCDCONF_PATH"; }

# domain_owner prints the name of the agent that has a domain number in pmcd.conf.
domain_owner() {
	awk -v d="$1" '/^[ \t]*\[/ { exit } /^[^#]/ && $2 == d { print $1 }' "$PCP_PMCDCONF_PATH"
}

# agent_status prints what pmcd says of an agent: 0 is good.
agent_status() {
	pminfo -f pmcd.agent.status 2>/dev/null | sed -n "s/.* or \"$1\"] value //p"
}

# missing prints the metrics that ought to have values and have none, and those that answer
# with an error. PM_ERR_VALUE (no value at present) does not count as an error, and neither
# does a dynamic subtree without names, which is listed by its own name. It takes a file of
# names, each alone on its line or followed by "if OTHER": then it is wanted only while
# OTHER has a value that is not 0. The rest of the arguments are the subtrees to look at.
missing() {
	expect=$1
	shift
	pmprobe -v "$@" 2>&1 | awk -v expect="$expect" -v subtrees=" $* " '
		$2 == -12351 { next }
		$2 < 0 && index(subtrees, " " $1 " ") { next }
		$2 < 0 { print $1 ": " substr($0, length($1 " " $2) + 2); next }
		$2 !~ /^[0-9]+$/ { print; next }
		{ n[$1] = $2; for (i = 3; i <= NF; i++) if ($i != "0") set[$1] = 1 }
		END {
			while ((getline <expect) > 0) {
				if ($0 ~ /^#/ || NF == 0 || ($2 == "if" && !set[$3])) continue
				if (!n[$1]) print $1 ": no value"
			}
		}'
}

# wait_for_values waits until an agent is well and all values that it ought to have
# are there. What is lacking after the given number of seconds is printed.
wait_for_values() {
	seconds=$1 agent=$2 expect=$3
	shift 3
	for _ in $(seq "$seconds"); do
		lack=$(missing "$expect" "$@")
		[ "$(agent_status "$agent")" = 0 ] && [ -z "$lack" ] && return 0
		sleep 1
	done
	warn "$agent: pmcd.agent.status is $(agent_status "$agent"); after $seconds seconds these lack values:"
	say "$lack" >&2
	return 1
}
