# shellcheck shell=sh
# Putting files where they belong, and knowing later which ones they were. To be
# sourced after common.sh and load_pcp; $manifest is the list to add to, $known has the lists
# of what is installed already.

# make_dir makes a folder and those above it. It lists those that it made, and those that an
# earlier installation made, which $known lists.
make_dir() {
	! grep -qxF -- "$1/" "$manifest" || return 0
	if [ ! -d "$1" ]; then
		make_dir "$(dirname "$1")" && mkdir "$1" || return 1
	elif grep -qxF -- "$1/" "$known"; then
		make_dir "$(dirname "$1")" || return 1
	else
		return 0
	fi
	say "$1/" >>"$manifest"
}

# put MODE FROM TO installs a file. It appears whole or not at all, and a program that
# runs from the old one goes on running.
put() {
	make_dir "$(dirname "$3")" || return 1
	fresh=$(dirname "$3")/.$(basename "$3").fresh
	cp "$2" "$fresh" && chmod "$1" "$fresh" && chown 0:0 "$fresh" && mv -f "$fresh" "$3" || return 1
	say "$3" >>"$manifest"
}

# put_linked MODE FROM TO LINK installs a file and a link to it, unless they are one.
put_linked() {
	put "$1" "$2" "$3" || return 1
	[ "$3" = "$4" ] || put_link "$3" "$4"
}

# put_link TARGET LINK installs a link.
put_link() {
	make_dir "$(dirname "$2")" && ln -sfn "$1" "$2" || return 1
	say "$2" >>"$manifest"
}

# put_root FROM installs the files and links below a folder under their paths below /.
put_root() {
	(cd "$1" && find . ! -type d) | sed 's|^\.||' | while read -r f; do
		if [ -L "$1$f" ]; then
			put_link "$(readlink "$1$f")" "$f"
		elif [ -x "$1$f" ]; then
			put 755 "$1$f" "$f"
		else
			put 644 "$1$f" "$f"
		fi || exit 1
	done
}

# put_tree FROM TO LINK installs a folder of folders of files, each with a link.
put_tree() {
	[ -d "$1" ] || return 0
	(cd "$1" && find . -type f | sed 's|^\./||') | while read -r f; do
		put_linked 644 "$1/$f" "$2/$f" "$3/$f" || exit 1
	done
}

# put_config FROM TO LINK installs a configuration file, unless there is one: that one
# stays, and a default that differs from it is put beside it.
put_config() {
	if [ ! -e "$2" ]; then
		put 644 "$1" "$2" || return 1
		# A configuration outlives the agent, so it is not on the list.
		sed -i '$d' "$manifest"
	elif ! cmp -s "$1" "$2"; then
		put 644 "$1" "$2.new" || return 1
		say "$2 is kept as it is; the new default is $2.new"
	fi
	put_link "$2" "$3"
}

# put_tmpfiles FROM STAGE NAME FOLDER... installs what systemd-tmpfiles is to make when the
# machine starts, for the user that PCP runs as, into the first of the folders that is
# there. STAGE is a folder for the time being.
put_tmpfiles() {
	from=$1 stage=$2 as=$3
	shift 3
	[ -f "$from" ] || return 0
	for to in "$@"; do
		[ -d "$to" ] || continue
		sed "s/@PCP_USER@/${PCP_USER:-pcp}/; s/@PCP_GROUP@/${PCP_GROUP:-pcp}/" "$from" >"$stage/tmpfiles" &&
			put 644 "$stage/tmpfiles" "$to/$as"
		return
	done
}

# remove_listed removes the files named in one list and not in another, and the folders of
# the first, which end in a slash, that this leaves empty. A list names a folder before what
# is in it.
remove_listed() {
	# Read first: the list itself may be among what is removed.
	list=$(grep -vxFf "$2" "$1" | sort -r)
	say "$list" | while read -r f; do
		case $f in
		'') ;;
		*/) [ ! -d "$f" ] || rmdir --ignore-fail-on-non-empty "$f" ;;
		*) rm -f "$f" ;;
		esac
	done
	return 0
}

# replace_list OLD NEW removes what an earlier list has and the new one has not, and puts
# the new one in the earlier one's place.
replace_list() {
	[ ! -f "$1" ] || remove_listed "$1" "$2"
	say "$1" >>"$2"
	cp "$2" "$(dirname "$1")/.files.fresh" && mv -f "$(dirname "$1")/.files.fresh" "$1"
}
