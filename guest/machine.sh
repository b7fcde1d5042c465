#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A guest as a machine file for Fairground. What things cost is that of hikey960: an emulated machine has no such costs.
# Usage: guest/machine.sh MACHINE > FILE.toml
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/qemu.sh"

guest_line "$1" | awk '
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
		return last + 1
	}

	{
		nr = split($2, capacity, ",")
		print "format = 1\nname = \"guest-" $1 "\"\ntitle = \"Guest " $1 " of guest/machines.txt\"\n"
		print "[sources]\nG = \"guest/machines.txt\"\n"
		print "[topology]\nsource = \"G\"\ncpus = " nr "\nllcs = " list($4)
		if ($5 < nr) {
			print "nodes = " list($5)
			print "distances = { slit = [[10, 20], [20, 10]], source = \"G\" }"
		}
		print "\n[[cluster]]\ncpus = \"" $3 " cores\"\nshares_cache = " ($4 > $3 ? "true" : "false")
		print "active = { mW = 10, source = \"estimate: emulated\" }"
		print "idle = { mW = 0, source = \"estimate: emulated\" }"
		print "\n[[freq_domain]]\ncpus = \"all\"\ntransition = { us = 300, source = \"estimate: emulated\" }"
		print "[freq_domain.opps]\nsource = \"estimate: emulated\"\ncolumns = [\"MHz\", \"mW\"]\nrows = [[1000, 100]]"
		for (i = 0; i < nr;) i = cpu_type(i)
	}
'
echo
# Its caches are left out: nothing is emulated of them.
sed -n '/^\[costs\]/,/^\[\[cache\]\]/p' "$here/../machines/hikey960.toml" | sed -E '
	/^\[\[cache\]\]/d
	/source = "estimate: /! s/source = "[^"]*"/source = "estimate: of hikey960"/
	/^\[costs\.(ipi|line|refill_kib)\]/,/^$/ { s/^llc (.*)/cluster \1\nllc \1/; s/^node (.*)/node \1\npackage \1/ }'
