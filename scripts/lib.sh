# Functions that all scripts share. Sourced by bash, never run.

export LC_ALL=C.UTF-8

say() { printf '%s\n' "$*" >&2; }

# Ends the script with one line that names the failure and the remedy.
die() {
    say "$(basename "$0"): $*"
    exit 1
}

# Runs a command, but no longer than LIMIT (`timeout`'s notation): 124 or 137 means that it ran
# into it. In the background, so that Ctrl-C ends the command's whole process group at once.
limited() {
    local limit=$1 status=0
    shift
    timeout --kill-after=20s "$limit" "$@" &
    limited_pid=$!
    wait "$limited_pid" || status=$?
    limited_pid=
    return "$status"
}

# Ends the command that `limited` runs, for traps.
end_limited() {
    [ -z "${limited_pid:-}" ] || kill "$limited_pid" 2>/dev/null || true
}
limited_pid=

# The mount points at or below a directory, deepest last mounted first.
mounts_below() {
    awk -v top="$1" '{
        point = $5
        gsub(/\\040/, " ", point)
        if (point == top || index(point, top "/") == 1) lines[n++] = point
    } END { while (n > 0) print lines[--n] }' /proc/self/mountinfo
}

# Takes a mount away even if its daemon hangs or is dead, and gives the directory beneath back.
force_unmount() {
    fusermount3 -uz "$1" 2>/dev/null || umount -l "$1" 2>/dev/null || true
    unprotect "$1"
}

# Lets a directory be removed that a mount has left protected.
unprotect() {
    chattr -i "$1" 2>/dev/null || true
    chmod u+w "$1" 2>/dev/null || true
}

# The ids of processes that have a path, or one below it, as an argument: daemons that outlive their
# test. The path is a temporary directory of the caller, so no other process has it.
processes_using() {
    local directory=$1 file argument
    for file in /proc/[0-9]*/cmdline; do
        while IFS= read -r -d '' argument; do
            case $argument in
            "$directory" | "$directory"/* | *:"$directory"/*)
                basename "$(dirname "$file")"
                break
                ;;
            esac
        done 2>/dev/null <"$file" || true
    done
}
