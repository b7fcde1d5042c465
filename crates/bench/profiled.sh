#!/usr/bin/env bash
# Builds the command by a profile of its own work (profile-guided optimization), for binaries that are given to others.
#
#   crates/bench/profiled.sh	builds target/profiled/fairground
#
# Needs rustup's component llvm-tools. The work is that of `fairground bench` and of the README's examples; docs/speed.md
# says what it gains.
set -euo pipefail
cd "$(dirname "$0")/../.."
host=$(rustc -vV | sed -n 's/^host: //p')
merge=$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata
[ -x "$merge" ] || { echo "profiled.sh: there is no $merge: rustup component add llvm-tools" >&2; exit 1; }
out=${CARGO_TARGET_DIR:-target}/profiled
mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -rf "$out/raw"

build() { RUSTFLAGS=$1 cargo build --release --quiet --target "$host" --target-dir "$2" -p fairground-cli; }

build "-Cprofile-generate=$out/raw" "$out/counting"
counting=$out/counting/$host/release/fairground
export FAIRGROUND_CACHE=$out/cache
for row in W8=8 W8-why=2 W8-eas=8 W128=0.4 W1024=0.05 F224=0.01; do
	"$counting" bench --row "${row%=*}" --virtual-seconds "${row#*=}" >/dev/null
done
"$counting" compare hikey960 sched-pipe:loops=2000 --base fair:v5.9 --test fair:v7.3 --seeds 2 >/dev/null
"$counting" run alder-lake schbench:runtime=0.5 --sched fair:v7.3 --governor schedutil >/dev/null
"$merge" merge -o "$out/profile" "$out/raw"

build "-Cprofile-use=$out/profile" "$out/using"
using=$out/using/$host/release/fairground
hashes() { "$1" run rb5 periodic:tasks=20,periods=5+8+10,duty=5,duration=1 --sched fair:v7.3 --governor schedutil | grep -i hash; }
[ "$(hashes "$counting")" = "$(hashes "$using")" ] || { echo "profiled.sh: the two builds run differently" >&2; exit 1; }
cp "$using" "$out/fairground"
echo "$out/fairground"
