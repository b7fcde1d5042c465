# Edits of a kernel tree by the names of functions and one commit for each, for series.sh and planted.sh.
export GIT_AUTHOR_NAME=Reviewer GIT_AUTHOR_EMAIL=reviewer@example.org GIT_COMMITTER_NAME=Reviewer GIT_COMMITTER_EMAIL=reviewer@example.org
export GIT_AUTHOR_DATE='2024-01-01T00:00:00Z' GIT_COMMITTER_DATE='2024-01-01T00:00:00Z'

fair=kernel/sched/fair.c

# edit FILE COMMAND: sed, which must change something.
edit() {
	cp "$1" "$1.before"
	sed -i "$2" "$1"
	! cmp -s "$1" "$1.before" || { echo "series: nothing in $1 matches $2" >&2; exit 1; }
	rm "$1.before"
}
# patch TITLE: commits what was edited.
patch() {
	git commit -qam "sched/fair: $1" -m "Made by ${0##*/}."
}
# first FUNCTION TEXT: puts a line at the begin of a function's body.
first() { edit $fair "/^\([a-z].*[ *]\)\?$1([^;]*\$/,/^{/s/^{/{\n\t$2/"; }
comment() { first "$1" "\/* $2 *\/"; }

branch() { git checkout -qf base && git checkout -qb "$1"; }
