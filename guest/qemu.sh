# SPDX-License-Identifier: GPL-2.0-only
# Sourced: how a guest is started. An instruction takes 8 ns of virtual time, all CPUs take turns in one thread, and
# nothing comes from outside: the same inputs give the same run.
guest_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# The line of MACHINE in machines.txt or live-machines.txt.
guest_line() {
	awk -v name="$1" '$1 == name { print; found = 1 } END { exit !found }' "$guest_dir/machines.txt" \
		"$guest_dir/live-machines.txt" || {
		echo "guest: no machine $1 in guest/machines.txt and live-machines.txt" >&2
		return 1
	}
}

guest_machines() { awk '!/^#/ && NF { print $1 }' "$guest_dir/machines.txt"; }
live_machines() { awk '!/^#/ && NF { print $1 }' "$guest_dir/live-machines.txt"; }

# guest_qemu MACHINE OPTION...
guest_qemu() {
	local fields cpus node memory numa=() first
	read -ra fields <<<"$(guest_line "$1")"
	shift
	cpus=$(tr ',' '\n' <<<"${fields[1]}" | wc -l)
	node=${fields[4]} memory=2048
	for ((first = 0; node < cpus && first < cpus; first += node)); do
		local id=$((first / node)) share=$((memory * node / cpus))
		numa+=(-object "memory-backend-ram,id=m$id,size=${share}M"
			-numa "node,nodeid=$id,cpus=$first-$((first + node - 1)),memdev=m$id")
	done
	for ((first = node; node < cpus && first < cpus; first += node)); do
		numa+=(-numa "dist,src=0,dst=$((first / node)),val=20")
	done
	# Three hours: a guest that hangs is to end. In the foreground, where Ctrl-C ends it as well.
	timeout --foreground -k 5 10800 "${FAIRGROUND_QEMU:-qemu-system-aarch64}" -cpu cortex-a76 -smp "$cpus" -m "$memory" "${numa[@]}" -nodefaults -no-reboot -nographic \
		-serial stdio -monitor none "$@" </dev/null
}

# guest_boot MACHINE BUILD PROGRAM PARAMETERS [SEED]: what the guest printed. BUILD: what build.sh wrote.
guest_boot() {
	guest_qemu "$1" -M virt,gic-version=3 -icount shift=3,sleep=off -seed "${5:-1}" \
		-rtc base=2026-01-01T00:00:00,clock=vm -kernel "$2/Image" -initrd "$2/$3.gz" -dtb "$2/$1.dtb" \
		-append "console=ttyAMA0 quiet panic=-1 $4"
}
