# SPDX-License-Identifier: GPL-2.0-only
# Sourced: packages of Debian that are for another release or another processor, unpacked into a folder. Nothing is installed, and apt's
# own lists stay as they are.

# unpack FOLDER SUITE ARCHITECTURE PACKAGE...: into FOLDER/root. SUITE is of the archive that apt has for this release: bookworm,
# bookworm-backports.
unpack() (
	folder=$1 suite=$2 architecture=$3
	shift 3
	. /etc/os-release
	site=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $VERSION_CODENAME" | head -n 1)
	[ -n "$site" ] || { echo "packages.sh: apt has no archive of $VERSION_CODENAME" >&2; exit 1; }
	mkdir -p "$folder"/{lists/partial,cache/archives/partial,root}
	echo "deb [arch=$architecture signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $suite main" >"$folder/sources.list"
	apt() {
		apt-get -qq -o APT::Architecture="$architecture" -o APT::Architectures::="$architecture" \
			-o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$folder/lists" \
			-o Dir::Cache="$folder/cache" -o APT::Sandbox::User=root "$@" >&2
	}
	apt update && cd "$folder" && apt download "$@" || exit 1
	for package in *.deb; do dpkg-deb -x "$package" root || exit 1; done
)

codename() (. /etc/os-release && echo "$VERSION_CODENAME")
