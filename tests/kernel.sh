#!/usr/bin/env bash
# Real kernels: Debian's linux-source-6.1 and linux-source-6.12, in whatever point release apt has, and a patched copy.
# They are built by the command, driven by a toy host in C, run on machines of three shapes, and everything else that
# wants a tree or a library runs with them. No release is asserted.
#
#   tests/kernel.sh            what every change must pass: 6.12 alone, built, hosted, run, and refereed for a moment
#   tests/kernel.sh --full     both and the patched one, docs/{kernel,conformance}.md, what a booted kernel decided, the same bytes
#   tests/kernel.sh referee    our policy against both of them, all decisions
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
"" | --full) FAIRGROUND=$(tests/build.sh) ;;
referee)
	# Too long for a build that is not optimised.
	cargo build --quiet --release -p fairground-cli
	FAIRGROUND=$(realpath "${CARGO_TARGET_DIR:-target}")/release/fairground
	;;
*)
	echo "kernel.sh: no $1; without a word, or: --full, referee" >&2
	exit 2
	;;
esac
export FAIRGROUND
kernels=$(realpath -m "${CARGO_TARGET_DIR:-target}")/kernels
export FAIRGROUND_CACHE=$kernels/cache PATH=$(dirname "$FAIRGROUND"):$PATH
mkdir -p "$kernels"

# tree RELEASE: the directory of an unpacked tree.
tree() { tests/unpack.sh "$1" "$kernels"; }

say() { echo "--- $1 (after $SECONDS s)"; }

say "trees"
tree612=$(tree 6.12)
[ $# = 0 ] || tree61=$(tree 6.1)

# The machines: big.LITTLE, two nodes of clusters, and more CPUs than fit into three words of a mask.
shapes=$(mktemp -d -p "$kernels")
trap 'rm -rf "$shapes"' EXIT
sed -e '/^cores = /d' -e 's/ratio = \[1.0, 1.25\]/ratio = [1.0]/' -e 's/^cpus = 256/cpus = 48/' \
	-e 's/^llcs = .*/llcs = "24 cpus"/' -e 's/^nodes = .*/nodes = "24 cpus"/' -e 's/^name = .*/name = "clustered"/' \
	-e '/^\[\[cluster\]\]/,/^$/s/^cpus = "1 llc"/cpus = "4 cpus"\nshares_cache = true/' -e '/^llc = /{p;s/^llc/cluster/}' \
	machines/epyc-7742-2p.toml >"$shapes/clustered.toml"
sed -e 's/^cpus = 256/cpus = 224/' -e 's/apart = 128/apart = 112/' -e 's/^llcs = .*/llcs = "56 cores"/' \
	-e 's/^nodes = .*/nodes = "56 cores"/' -e 's/^name = .*/name = "smt"/' machines/epyc-7742-2p.toml >"$shapes/smt.toml"

# library NAME: the file of linux:NAME.
library() {
	fairground kernel list --format json |
		awk -v name="$1" -F '"' '$2 == "name" { at = $4 } $2 == "library" && at == name { print $4 }'
}

# package RELEASE: the source package and its version, as tests/hashes/linux.tsv names them.
package() { dpkg-query -W -f '${Package}_${Version}' "linux-source-$1"; }

# The commands of both pages, with the trees they name: they leave linux:base and the patched linux:mine.
guide() {
	say "docs/kernel.md and docs/conformance.md"
	rm -rf "$kernels/guide"
	mkdir "$kernels/guide"
	cp -r "$tree612" "$kernels/guide/linux-source-6.12"
	tests/docs.sh docs/kernel.md "$kernels/guide"
	tests/docs.sh docs/conformance.md "$kernels/guide"
}

smoke() {
	say "a toy host in C"
	gcc -O1 -Wall -o "$shapes/smoke" crates/linux/kernel/tests/smoke.c -iquote crates/linux/kernel/include -iquote policy -ldl
	for name in "$@"; do
		"$shapes/smoke" "$(library "$name")"
	done
}

# A WARN of any of them ends its run, and the comparison with 1.
compare() {
	say "three kernels on machines of three shapes"
	while read -r machine workload more; do
		fairground compare "$machine" "$workload" $more --base linux:v6.1 --test linux:base --test linux:mine \
			--seeds 2 --check-determinism >"$shapes/table"
		grep '^note: kernel says' "$shapes/table" || true
	done <<LINES
hikey960               sched-pipe:loops=5000
hikey960               periodic:tasks=12,duty=25,duration=1  --governor schedutil
$shapes/clustered.toml sched-pipe:loops=2000
$shapes/clustered.toml periodic:tasks=120,duty=30,duration=1
$shapes/smt.toml       periodic:tasks=600,duty=15,duration=0.3
LINES
}

# What booted kernels decided is recorded for two releases; another one's answers are shown, not judged.
replay() {
	say "the scenarios of a booted kernel"
	guest/replay.sh 6.12.117 linux:base || [ ! -d "guest/recorded/$(make -s -C "$tree612" kernelversion)" ]
	guest/replay.sh 6.12.117 fair:debian-6.12.117
	guest/replay.sh 7.3.4 fair:debian-7.3.4
}

# cargo_test OPTION...: tests that want a library or a tree, of the build that all tests share.
cargo_test() { cargo test --quiet --workspace --exclude fairground-bench --exclude fairground-live "$@"; }

quick() {
	fairground kernel build "$tree612" --name base
	smoke base
	say "a kernel and its preset on machines of three shapes"
	while read -r machine workload; do
		fairground compare "$machine" "$workload" --base linux:base --test fair:debian-6.12.117 --seeds 1 >"$shapes/table"
	done <<LINES
hikey960               sched-pipe:loops=500
$shapes/clustered.toml periodic:tasks=60,duty=30,duration=0.2
$shapes/smt.toml       periodic:tasks=300,duty=15,duration=0.1
LINES
	say "the same run with and without its reasons"
	args=(run hikey960 periodic:tasks=12,duty=30,duration=0.1 --sched linux:base --format json)
	plain=$(fairground "${args[@]}" | grep '^ *"hash"')
	with_why=$(fairground "${args[@]}" --trace "$shapes/why.txt" --why | grep '^ *"hash"')
	[ "$plain" = "$with_why" ] || { echo "kernel.sh: --why changes the run: $plain $with_why" >&2; exit 1; }
	say "cargo tests that want a library"
	FAIRGROUND_LIBKSCHED=$(library base) cargo_test --test real --test shares --test server --test lisa_like
	FAIRGROUND_HASHED_KERNELS="$(package 6.12)=base" cargo_test --test cli event_hashes::runs_of_kernels -- --nocapture
	say "the referee, for a moment"
	fairground kernel agree base --decisions 500 --machine hikey960
}

tests() {
	say "cargo tests that want a tree or a library"
	FAIRGROUND_TREE_6_12=$tree612 cargo_test --test cli patched
	for name in v6.1 base; do
		FAIRGROUND_LIBKSCHED=$(library $name) cargo_test --test real --test shares --test server
	done
	FAIRGROUND_LIBKSCHED=$(library base) cargo_test --test lisa_like
	FAIRGROUND_HASHED_KERNELS="$(package 6.1)=v6.1 $(package 6.12)=base" \
		cargo_test --test cli event_hashes::runs_of_kernels -- --nocapture
	if [ -x target/python/bin/pytest ]; then
		say "kernels from Python"
		tests/package.sh "$shapes/package"
		PYTHONPATH=$shapes/package FAIRGROUND_KERNEL=linux:base FAIRGROUND_TREE=$tree612 \
			target/python/bin/pytest -q python/tests/test_kernels.py
	fi
}

referee() {
	say "the referee"
	fairground kernel build "$tree612" --name base
	for name in v6.1 base; do
		fairground kernel agree $name --pelt --picks --balance
		fairground kernel free-run $name
	done
	FAIRGROUND_TREE_6_1=$tree61 FAIRGROUND_TREE_6_12=$tree612 cargo test --release --quiet -p fairground-linux --tests
}

say "kernels"
[ $# = 0 ] || fairground kernel build "$tree61" --name v6.1
case ${1:-} in
"") quick ;;
--full)
	guide
	smoke v6.1 base
	compare
	replay
	tests
	say "patches that the referee must find"
	tests/patches.sh "$tree612"
	say "same bytes"
	tests/determinism.sh --release v6.1 base
	;;
referee) referee ;;
esac
