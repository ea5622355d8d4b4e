# shellcheck shell=sh
# The C libraries that programs link, which an agent brings along. To be sourced after
# common.sh, packages.sh, files.sh and build.sh.

# agent_library prints the name of the library that the agent of a folder brings, such as
# libarm, if it brings one.
agent_library() { [ ! -f "$1/library" ] || cat "$1/library"; }

# library_dir prints where libraries go: into PREFIX (/usr/local) and there into the folder
# that the compiler looks in, which is lib64 with some distributions.
library_dir() {
	sub=$("${CC:-cc}" -print-multi-os-directory 2>/dev/null)
	say "${LIBDIR:-${PREFIX:-/usr/local}/$(basename "${sub:-lib}")}"
}

# build_library NAME STAGE builds a library and puts what belongs to it below STAGE/root,
# under the paths that it is to have below /.
build_library() {
	mkdir "$2/build" "$2/root" || return 1
	chmod 755 "$2"
	chown "$owner" "$2/build" "$2/root" 2>/dev/null
	as_owner make -s -C "$1" BUILD="$2/build" DESTDIR="$2/root" \
		PREFIX="${PREFIX:-/usr/local}" LIBDIR="$(library_dir)" install
}

# found_libraries prints the paths under which the machine's programs find libraries of a
# name, first come first.
found_libraries() {
	ldconfig -p | sed -n "s|^.* => \(.*/$1\.so[^/]*\)\$|\1|p" | while read -r f; do
		[ ! -e "$f" ] || say "$f"
	done
}

# foreign_library NAME STAGE LIST prints the files of a library of that name that are not
# on the list of what an earlier Install brought: those that would be overwritten, and those
# that programs find now.
foreign_library() {
	list=$3
	[ -f "$list" ] || list=/dev/null
	{
		(cd "$2/root" && find . ! -type d) | sed 's|^\.||' | while read -r f; do
			{ [ ! -e "$f" ] && [ ! -L "$f" ]; } || say "$f"
		done
		found_libraries "$1"
	} | grep -vxFf "$list" | sort -u
}

# put_library NAME STAGE LINKER installs what build_library made, and has the linker at run
# time look where it is. LINKER is the name of the file that tells it so, where it needs one.
put_library() {
	put_root "$2/root" || return 1
	libdir=$(library_dir)
	conf=/etc/ld.so.conf.d/$3
	if [ -d /etc/ld.so.conf.d ] && { [ -e "$conf" ] || ! ldconfig -N -v 2>/dev/null | grep -q "^$libdir:"; }; then
		say "$libdir" >"$2/linker" && put 644 "$2/linker" "$conf" || return 1
	fi
	ldconfig || return 1
	first=$(found_libraries "$1" | head -n 1)
	grep -qxF -- "$first" "$manifest" || {
		warn "$1 is installed in $libdir, but programs find ${first:-none}: see ldconfig -p and /etc/ld.so.conf"
		return 1
	}
}
