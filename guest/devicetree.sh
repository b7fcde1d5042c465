#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Writes the device tree of a guest: QEMU's own, with /cpus made from a line of machines.txt or live-machines.txt and without
# random seeds.
# Usage: guest/devicetree.sh MACHINE OUT.dtb
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/qemu.sh"
machine=$1 out=$2

line=$(guest_line "$machine")
guest_qemu "$machine" -M "virt,gic-version=3,dumpdtb=$out.qemu" >/dev/null 2>&1
dtc -q -I dtb -O dts "$out.qemu" | awk -v line="$line" '
	function indent(depth, text) { while (depth--) printf "\t"; print text }

	# A node of the cpu-map for each cluster, and one of it for each core.
	function cpu_map(   i) {
		indent(2, "cpu-map {")
		indent(3, "socket0 {")
		for (i = 0; i < nr; i++) {
			if (i % cluster == 0) indent(4, sprintf("cluster%d {", i / cluster))
			indent(5, sprintf("core%d { cpu = <&cpu%d>; };", i % cluster, i))
			if (i % cluster == cluster - 1) indent(4, "};")
		}
		indent(3, "};")
		indent(2, "};")
	}

	function cpu(i,   reg) {
		# MPIDR: QEMU numbers 16 CPUs, then counts the next field up.
		reg = int(i / 16) * 256 + i % 16
		indent(2, sprintf("cpu%d: cpu@%x {", i, reg))
		indent(3, "device_type = \"cpu\";")
		indent(3, "compatible = \"arm,cortex-a76\";")
		indent(3, "enable-method = \"psci\";")
		indent(3, sprintf("reg = <%d>;", reg))
		if (node < nr) indent(3, sprintf("numa-node-id = <%d>;", i / node))
		indent(3, sprintf("capacity-dmips-mhz = <%d>;", clocks ? capacity[i + 1] * 1e5 / top[int(i / cluster)] : capacity[i + 1]))
		if (clocks) with_clock(int(i / cluster))
		indent(3, sprintf("next-level-cache = <&l2_%d>;", i / cluster))
		indent(2, "};")
	}

	# The operating points of a cluster, its clock and its power, as a CPU has them.
	function with_clock(cluster) {
		indent(3, sprintf("operating-points-v2 = <&points%d>;", cluster))
		indent(3, sprintf("clocks = <&clock%d>;", cluster))
		indent(3, sprintf("dynamic-power-coefficient = <%d>;", coefficient[cluster + 1]))
	}

	# A clock for each cluster. It is fixed: cpufreq takes it for the one that it has asked for.
	function operating_points(   k, n, i, point, figure) {
		for (k = 0; k < clocks; k++) {
			n = split(list[k + 1], point, ",")
			indent(1, sprintf("clock%d: clock-%d {", k, k))
			indent(2, "compatible = \"fixed-clock\";")
			indent(2, "#clock-cells = <0>;")
			indent(2, sprintf("clock-frequency = <%d000000>;", top[k]))
			indent(1, "};")
			indent(1, sprintf("points%d: opp-table-%d {", k, k))
			indent(2, "compatible = \"operating-points-v2\";")
			indent(2, "opp-shared;")
			for (i = 1; i <= n; i++) {
				split(point[i], figure, "@")
				indent(2, sprintf("opp-%d {", figure[1]))
				indent(3, sprintf("opp-hz = /bits/ 64 <%d000000>;", figure[1]))
				indent(3, sprintf("opp-microvolt = <%d000>;", figure[2]))
				indent(3, "clock-latency-ns = <300000>;")
				indent(2, "};")
			}
			indent(1, "};")
		}
	}

	function cache(label, level, above) {
		indent(2, sprintf("%s: %s {", label, label))
		indent(3, "compatible = \"cache\";")
		indent(3, sprintf("cache-level = <%d>;", level))
		indent(3, "cache-unified;")
		if (above != "") indent(3, sprintf("next-level-cache = <&%s>;", above))
		indent(2, "};")
	}

	function cpus(   i) {
		indent(1, "cpus {")
		indent(2, "#address-cells = <1>;")
		indent(2, "#size-cells = <0>;")
		cpu_map()
		for (i = 0; i < nr; i++) cpu(i)
		for (i = 0; i < nr; i += cluster)
			cache("l2_" i / cluster, 2, llc > cluster ? "l3_" int(i / llc) : "")
		if (llc > cluster)
			for (i = 0; i < nr; i += llc) cache("l3_" i / llc, 3, "")
		indent(1, "};")
		operating_points()
	}

	BEGIN {
		split(line, field)
		nr = split(field[2], capacity, ",")
		cluster = field[3]; llc = field[4]; node = field[5]
		clocks = split(field[6], list, "/")
		split(field[7], coefficient, "/")
		for (i = 1; i <= clocks; i++) {
			points = split(list[i], point, ",")
			top[i - 1] = point[points] + 0
		}
	}
	/^\tcpus \{/ { skip = 1; cpus() }
	!skip && !/(rng|kaslr)-seed/
	skip && /^\t\};/ { skip = 0 }
' | dtc -q -I dts -O dtb -o "$out" -
rm "$out.qemu"
