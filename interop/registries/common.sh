# shellcheck shell=bash
# What the server scripts beside this file have in common; they source it. Such a script sets `name` and `version`, and
# defines:
#   install_into DIR     put what the server needs into the empty folder DIR
#   launch PORT DATADIR  become the server (exec), in the foreground
#   answers PORT         succeed once the server answers a request of its protocol
set -eu

cache=${PEERS_CACHE:-${CI_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/dubbo-rust-ci}/registries}
home=$cache/$name-$version
host=127.0.0.1
start_limit=60 # seconds

die() {
	echo "$name: $*" >&2
	exit 1
}

need() {
	for tool; do
		command -v "$tool" >/dev/null || die "needs $tool"
	done
}

do_install() {
	[ -e "$home/.complete" ] && return 0
	need flock
	mkdir -p "$cache"
	(
		flock 9 # another install of the same server may be under way
		[ -e "$home/.complete" ] && exit 0
		rm -rf "$home" "$home.part"
		mkdir "$home.part"
		install_into "$home.part" 9>&-
		touch "$home.part/.complete"
		mv "$home.part" "$home"
	) 9>"$cache/$name.lock"
}

# The pid on record, if that process still runs and works on this data folder.
running() {
	local pid
	pid=$(cat "$1/$name.pid" 2>/dev/null) || return 1
	tr '\0' ' ' 2>/dev/null <"/proc/$pid/environ" | grep -qF "PEER_DATA=$1 " || return 1
	echo "$pid"
}

do_start() {
	local port=$1 dir pid log end
	mkdir -p "$2"
	dir=$(cd "$2" && pwd)
	log=$dir/$name.log
	if pid=$(running "$dir"); then
		answers "$port" || die "pid $pid already uses $dir but does not answer on $port"
		echo "pid=$pid port=$port"
		return
	fi
	! answers "$port" || die "something else already answers on $port"
	do_install >&2
	(
		export PEER_DATA="$dir"
		launch "$port" "$dir"
	) >>"$log" 2>&1 </dev/null &
	pid=$!
	echo "$pid" >"$dir/$name.pid"
	end=$((SECONDS + start_limit))
	while ((SECONDS < end)); do
		if answers "$port"; then
			echo "pid=$pid port=$port"
			return
		fi
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.2
	done
	echo "$name: not up on port $port; the end of $log:" >&2
	tail -n 30 "$log" >&2
	do_stop "$dir"
	exit 1
}

do_stop() {
	local dir pid i
	dir=$(cd "$1" 2>/dev/null && pwd) || return 0
	if pid=$(running "$dir"); then
		kill "$pid"
		for ((i = 0; i < 100; i++)); do
			running "$dir" >/dev/null || break
			[ "$i" -ne 50 ] || kill -9 "$pid" 2>/dev/null || true
			sleep 0.1
		done
		! running "$dir" >/dev/null || die "pid $pid will not end"
	fi
	rm -f "$dir/$name.pid"
}

# Ends the server as a power cut would, and returns when it is gone.
do_crash() {
	local dir pid
	dir=$(cd "$1" && pwd)
	pid=$(running "$dir") || die "nothing runs on $dir"
	kill -9 "$pid"
	while running "$dir" >/dev/null; do sleep 0.05; done
}

# Serves for as long as whoever started it lives: the end of its input is the end of the server.
do_serve() {
	trap 'do_stop "'"$2"'"' EXIT
	do_start "$1" "$2" >&2
	echo '{"event":"ready"}'
	cat >/dev/null
}

main() {
	case "${1-} $#" in
	"install 1") do_install ;;
	"start 3") do_start "$2" "$3" ;;
	"serve 3") do_serve "$2" "$3" ;;
	"stop 2") do_stop "$2" ;;
	"crash 2") do_crash "$2" ;;
	"restart 3") do_stop "$3" && do_start "$2" "$3" ;;
	*) die "usage: $name install | start PORT DATADIR | serve PORT DATADIR | stop DATADIR | crash DATADIR | restart PORT DATADIR" ;;
	esac
}
