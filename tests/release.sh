#!/usr/bin/env bash
# What `./release` builds, tried as those do who install it, away from this tree:
#
# - static programs: no library is asked for; a run is the same as that of the command that all tests share, workloads are
#   played, `linux:` is refused by name;
# - wheels: auditwheel and twine have nothing to say, a fresh environment of each Python at hand (3.10 to 3.14) has command,
#   package, man pages and completions, and its runs are the same;
# - the playground's module gives recorded hashes of events, its page runs from a disk and without its server;
# - what is of the other architecture runs under qemu-user: the program, and the wheel with Debian's Python for arm64.
#
#   tests/release.sh [PART...]     parts of ./release; all unless some are named
#   tests/release.sh --twice       instead: the parts for this machine's architecture once more, from a clone in another folder
#                                  and with nothing built before: the same bytes
#
# All ends up in target/release-files. Exit code 77: a tool, a target or qemu-user is not there and cannot be installed. 78: all was
# tried but the playground's page, for which there is no browser, or no node, which its runs need too.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$PWD
files=$tree/target/release-files
here=$(uname -m)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Processes of a Python are to see what was installed, and no more.
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV FAIRGROUND_PYTHON

fail() {
	echo "release.sh: $*" >&2
	exit 1
}

if [ "${1:-}" = --twice ]; then
	parts=("wheel-$here" "static-$here" playground source)
	[ -z "$(git status --porcelain)" ] || fail "there are changes that are not committed: a clone would not have them"
	./release --draft "${parts[@]}"
	git clone --quiet . "$work/elsewhere/clone"
	(unset CARGO_TARGET_DIR; "$work/elsewhere/clone/release" --draft "${parts[@]}")
	for file in "$work"/elsewhere/clone/target/release-files/fairground-*; do
		cmp "$file" "$files/$(basename "$file")"
		echo "the same bytes: $(basename "$file")"
	done
	exit
fi

[ $# -gt 0 ] || set -- source wheel-x86_64 static-x86_64 wheel-aarch64 static-aarch64 playground
qemu() { command -v "qemu-$1" || command -v "qemu-$1-static"; }
for part; do
	cpu=${part#*-}
	[ "$cpu" = "$part" ] || [ "$cpu" = "$here" ] || qemu "$cpu" >/dev/null || { echo "there is no qemu-$cpu"; exit 77; }
done
FAIRGROUND=$(tests/build.sh)
./release --draft "$@"
(cd "$files" && sha256sum --quiet -c SHA256SUMS)
name=fairground-$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)

# same_runs WHAT COMMAND...: events of runs are those of the command that all tests share.
same_runs() {
	local what=$1 machine run
	shift
	for machine in hikey960 kunpeng920; do
		run=(run $machine hackbench:groups=1,loops=20 --sched fair:v6.12 --format json)
		"$FAIRGROUND" "${run[@]}" | grep '^ *"hash"' >ours
		"$@" "${run[@]}" | grep '^ *"hash"' >theirs
		[ -s ours ] && cmp ours theirs || fail "$what: another run on $machine"
	done
}

# beside DIR: man pages and completions are there, and are those of the command.
beside() {
	grep -q 'fairground' "$1/share/man/man1/fairground-compare.1" || fail "$1: no man page"
	"$FAIRGROUND" completions bash | cmp - "$1/share/bash-completion/completions/fairground"
	"$FAIRGROUND" completions zsh | cmp - "$1/share/zsh/site-functions/_fairground"
	"$FAIRGROUND" completions fish | cmp - "$1/share/fish/vendor_completions.d/fairground.fish"
}

# try_static CPU: what the users of a board need.
try_static() {
	local cpu=$1 workload code=0 program
	tar -xzf "$files/$name-$cpu-linux-musl.tar.gz"
	local dir=$PWD/$name-$cpu-linux-musl
	readelf -ld "$dir/bin/fairground" >headers
	! grep -E 'INTERP|NEEDED' headers || fail "$cpu: it asks for an interpreter or a library"
	beside "$dir"
	program=("$dir/bin/fairground")
	[ "$cpu" = "$here" ] || program=("$(qemu "$cpu")" "$dir/bin/fairground")
	same_runs "static program for $cpu" "${program[@]}"
	local workloads=(sched-pipe:loops=200 hackbench:groups=1,loops=5)
	# qemu-user 7.2 aborts where a process that was forked from one with several threads creates a thread.
	[ "$cpu" != "$here" ] || workloads+=("$tree/workloads/ping-pong.json" schbench:runtime=0.1 sched-pipe:loops=200,threads)
	for workload in "${workloads[@]}"; do
		"${program[@]}" play "$workload" --rounds 1 --format json >played || fail "$cpu: $workload was not played"
		grep -q '"ended": "complete"' played || fail "$cpu: $workload did not come to its end"
	done
	echo '{ "tasks": { "t": { "process": "p", "loop": 3, "execve": 1, "run": 10 } } }' >exec.json
	"${program[@]}" play exec.json --rounds 1 >played 2>error || code=$?
	if [ "$cpu" != "$here" ]; then
		# qemu-user gives the program to this machine's kernel.
		[ $code = 0 ] || grep -q '(Exec): Exec format error' error || fail "$cpu: execve: code $code, $(cat error)"
	else
		[ $code = 0 ] || fail "$cpu: execve: code $code, $(cat error)"
		: >library.so
		code=0
		"${program[@]}" --allow-library run hikey960 sched-pipe:loops=20 --sched linux:"$PWD/library.so" 2>error || code=$?
		[ $code = 1 ] || fail "$cpu: linux: code $code, $(cat error)"
		tr -s ' |\n' ' ' <error | grep -q 'this command is a static program' || fail "$cpu: linux: $(cat error)"
	fi
	echo "static program for $cpu: $(stat -c %s "$dir/bin/fairground") bytes"
}

# pythons: those of this machine that a wheel is for, by path; pyenv's that are not chosen, too.
pythons() {
	local minor found
	for minor in 10 11 12 13 14; do
		for found in "$(command -v python3.$minor)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.$minor.*/bin/python3; do
			[ -x "$found" ] && "$found" -c 'import ensurepip, venv' 2>/dev/null && echo "$found" && break
		done
	done
}

# in_package PYTHON...: the package of an interpreter makes the run of the shared command, too.
in_package() {
	"$FAIRGROUND" run hikey960 sched-pipe:loops=100 --sched fair:v6.12 --format json | sed -n 's/^ *"hash": "\(.*\)".*/\1/p' >ours
	"$@" -c 'import fairground; print(fairground.run("hikey960", "sched-pipe:loops=100", sched="fair:v6.12").hash)' >theirs
	cmp ours theirs || fail "$1: another run in Python"
}

try_wheel() {
	local cpu=$1 wheel python tools=$tree/target/release-tools
	wheel=$files/$name-cp310-abi3-manylinux_2_28_$cpu.whl
	"$tools/bin/python" -c 'import auditwheel, twine' 2>/dev/null || "$tools/bin/pip" install -q auditwheel twine || exit 77
	"$tools/bin/auditwheel" show "$wheel" >audit
	tr -s ' \n' ' ' <audit | grep -q "consistent with the following platform tag: \"manylinux_2_[0-9]*_$cpu\"" || fail "$(cat audit)"
	awk -F'"' '/platform tag/ { found = 1 } found && /manylinux_2_/ { split($2, part, "_"); exit !(part[3] <= 28) }' audit || fail "$(cat audit)"
	"$tools/bin/twine" check --strict "$wheel" >twine || fail "$(cat twine)"
	if [ "$cpu" != "$here" ]; then
		foreign_wheel "$cpu" "$wheel"
		return
	fi
	[ -n "$(pythons)" ] || { echo "no Python from 3.10 on with venv: no wheel is tried"; exit 77; }
	for python in $(pythons); do
		SECONDS=0
		rm -rf venv
		"$python" -m venv venv
		venv/bin/pip install -q "$wheel"
		venv/bin/fairground compare hikey960 sched-pipe:loops=2000 --base fair:v5.9 --test fair:v5.9+asym-prev-first --doubt 0 >table
		grep -q '^ops_per_sec' table || fail "$python: no table"
		echo "$("$python" --version): first table after $SECONDS s"
		same_runs "wheel in $python" venv/bin/fairground
		in_package venv/bin/python
		beside venv
	done
}

# foreign_wheel CPU WHEEL: with Debian's Python for arm64, which is unpacked and not installed, and the newest pyarrow.
foreign_wheel() {
	local root=$tree/target/$1-python site packages
	[ "$1" = aarch64 ] || { echo "wheel for $1: not run"; return; }
	foreign_python "$root" || { echo "wheel for $1: not run, as there is no Python for it"; return; }
	site=$PWD/site-$1
	"$tree/target/release-tools/bin/pip" install -q --target "$site" --only-binary :all: --python-version 3.11 --implementation cp --abi cp311 --abi abi3 \
		--platform manylinux_2_28_aarch64 --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 "$2"
	local run=("$(qemu "$1")" -L "$root")
	same_runs "wheel for $1" "${run[@]}" "$site/bin/fairground"
	PYTHONPATH=$site in_package "${run[@]}" "$root/usr/bin/python3.11"
	beside "$site"
	echo "wheel for $1: runs under $(basename "${run[0]}") with $(PYTHONPATH='' "${run[@]}" "$root/usr/bin/python3.11" --version)"
}

# foreign_python ROOT: Debian's python3.11 for arm64 and what it needs, below ROOT. apt keeps its state there, so that this machine's
# architectures stay what they are.
foreign_python() {
	local root=$1 state=$1/apt deb
	[ ! -x "$root/usr/bin/python3.11" ] || return 0
	command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
	mkdir -p "$state"/{lists,cache/archives}/partial
	: >"$state/status"
	cat >"$state/apt.conf" <<-END
		APT::Architecture "arm64";
		APT::Architectures { "arm64"; };
		APT::Sandbox::User "root";
		Dir::State "$state";
		Dir::State::status "$state/status";
		Dir::Cache "$state/cache";
	END
	APT_CONFIG=$state/apt.conf apt-get update -qq &&
		APT_CONFIG=$state/apt.conf apt-get install -qq -y --download-only --no-install-recommends python3.11 libstdc++6 >/dev/null || return 1
	for deb in "$state"/cache/archives/*.deb; do dpkg-deb -x "$deb" "$root"; done
}

# What is left out for want of a tool.
left_out=""

try_playground() {
	local dir=$PWD/$name-playground tool
	tar -xzf "$files/$name-playground.tar.gz"
	for tool in node chromium chromedriver; do
		command -v $tool >/dev/null || left_out+=" $tool"
	done
	[[ $left_out == *node* ]] || (cd "$tree" && node tests/playground/hashes.mjs "$dir" 1 2 3 4 5 6 7 8)
	[ -n "$left_out" ] || (cd "$tree" && node tests/playground/page.mjs "$dir" disk)
	echo "playground: $(stat -c %s "$files/$name-playground.tar.gz") bytes"
}

cd "$work"
for part; do
	case $part in
	wheel-*) try_wheel "${part#wheel-}" ;;
	static-*) try_static "${part#static-}" ;;
	playground) try_playground ;;
	source)
		tar -xzf "$files/$name.tar.gz"
		[ "$(cat "$name/crates/lab/build/archived_commit")" = "$(git -C "$tree" rev-parse HEAD)" ] || fail "the tarball does not name its commit"
		;;
	esac
done
[ -z "$left_out" ] || { echo "NOT TRIED: the playground's page (without node its runs, too); there is no$left_out"; exit 78; }
