#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A guest as a machine file for Fairground. What things cost is that of hikey960: an emulated machine has no such costs.
# Usage: guest/machine.sh MACHINE [states] > FILE.toml
#
# states: CPUs have a second idle state, which is what an idle loop without cpuidle records in a guest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/qemu.sh"

file=guest/machines.txt
guest_machines | grep -qx "$1" || file=guest/live-machines.txt
guest_line "$1" | awk -v states="${2:-}" -v file="$file" '
	function list(size,   i, text) {
		for (i = 0; i < nr; i += size) text = text (i ? ", " : "") sprintf("\"%d-%d\"", i, i + size - 1)
		return "[" text "]"
	}

	# CPUs of the same capacity, from the first of them.
	function cpu_type(first,   last) {
		for (last = first; last < nr && capacity[last + 2] == capacity[first + 1]; last++) ;
		if (last == nr) last--
		printf "\n[cpu_type.capacity-%d]\ncpus = \"%d-%d\"\n", capacity[first + 1], first, last
		printf "capacity = { of_1024 = %d, source = \"G\" }\n", capacity[first + 1]
		printf "\n[cpu_type.capacity-%d.idle.WFI]\n", capacity[first + 1]
		print "entry = { us = 0, source = \"estimate: emulated\" }"
		print "wake = { ns = 300, source = \"estimate: emulated\" }"
		print "residency = { us = 1, source = \"estimate: emulated\" }"
		print "power = { mW = 5, source = \"estimate: emulated\" }"
		print "transition = { uJ = 0, source = \"estimate: emulated\" }"
		if (states) {
			printf "\n[cpu_type.capacity-%d.idle.sleep]\n", capacity[first + 1]
			print "entry = { us = 20, source = \"estimate: made up\" }"
			print "wake = { us = 50, source = \"estimate: made up\" }"
			print "residency = { us = 200, source = \"estimate: made up\" }"
			print "power = { mW = 1, source = \"estimate: made up\" }"
			print "transition = { uJ = 0, source = \"estimate: made up\" }"
		}
		return last + 1
	}

	# The clock of CPUs first to last: its points MHz@mV, and the power of each, coefficient * MHz * V^2 uW.
	function clock(first, last, points, coefficient,   i, n, point, pair, volt) {
		print "\n[[freq_domain]]\ncpus = \"" first "-" last "\"\ntransition = { us = 300, source = \"estimate: emulated\" }"
		print "[freq_domain.opps]\nsource = \"G\"\ncolumns = [\"MHz\", \"mW\"]"
		n = split(points, point, ",")
		for (i = 1; i <= n; i++) {
			split(point[i], pair, "@")
			volt = pair[2] / 1000
			printf "%s[%d, %.1f]", i == 1 ? "rows = [" : ", ", pair[1], coefficient * pair[1] * volt * volt / 1000
		}
		print "]"
	}

	{
		nr = split($2, capacity, ",")
		print "format = 1\nname = \"guest-" $1 "\"\ntitle = \"Guest " $1 " of " file "\"\n"
		print "[sources]\nG = \"" file "\"\n"
		print "[topology]\nsource = \"G\"\ncpus = " nr "\nllcs = " list($4)
		if ($5 < nr) {
			print "nodes = " list($5)
			print "distances = { slit = [[10, 20], [20, 10]], source = \"G\" }"
		}
		print "\n[[cluster]]\ncpus = \"" $3 " cores\"\nshares_cache = " ($4 > $3 ? "true" : "false")
		print "active = { mW = 10, source = \"estimate: emulated\" }"
		print "idle = { mW = 0, source = \"estimate: emulated\" }"
		nr_clocks = split($6, clocks, "/")
		split($7, coefficients, "/")
		for (i = 1; i <= nr_clocks; i++) clock((i - 1) * $3, i * $3 - 1, clocks[i], coefficients[i])
		if (!nr_clocks) {
			print "\n[[freq_domain]]\ncpus = \"all\"\ntransition = { us = 300, source = \"estimate: emulated\" }"
			print "[freq_domain.opps]\nsource = \"estimate: emulated\"\ncolumns = [\"MHz\", \"mW\"]\nrows = [[1000, 100]]"
		}
		for (i = 0; i < nr;) i = cpu_type(i)
	}
'
echo
# Its caches are left out: nothing is emulated of them.
sed -n '/^\[costs\]/,/^\[\[cache\]\]/p' "$here/../machines/hikey960.toml" | sed -E '
	/^\[\[cache\]\]/d
	/source = "estimate: /! s/source = "[^"]*"/source = "estimate: of hikey960"/
	/^\[costs\.(ipi|line|refill_kib)\]/,/^$/ { s/^llc (.*)/cluster \1\nllc \1/; s/^node (.*)/node \1\npackage \1/ }'
