import { spawn, type ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import type { Writable } from "node:stream";

/**
 * Reads lines from the guard. A line is `done`, or `order`, the term's id, the kill instant, the time until then, the command's
 * group, and a dot. The instant is in hundredths of a second of the kernel's uptime, and so is the time. The time counts if
 * `/proc/uptime` cannot be read, for want of a descriptor. The group is absent until the command has started. Any other line is
 * ignored: BusyBox loses the first part of a line if the limit of a `read` ends inside it.
 *
 * The input ends without `done` only if the guard was killed. Then the script waits until the kill instant, because a live wrapper
 * ends the command itself. Descriptor 3 ends the wait if the wrapper dies. After the wait the script kills the group, the rest of
 * its session, and every process that has the term's id in its environment.
 *
 * A frozen guard keeps the input open. So the script also kills 0.2 s after the kill instant. A wrapper that still runs has noticed
 * before that the guard does not answer. The script may have been frozen itself. So it kills only if another `read`, begun after
 * that instant, finds no newer order.
 *
 * The wait is a `read` with a limit, because it must not need another process. Bash and BusyBox have such a limit, dash has none.
 * So `/bin/bash` takes the place of dash. With `--posix` its limit also counts while the process is stopped. Without `--norc` bash
 * reads `.bashrc` if its input is a socket. With dash alone, or without `/proc`, the script kills as soon as the guard is killed,
 * and does not notice a frozen one. BusyBox ends a `read` with the same code at the limit and at the input's end. So three reads
 * that fail early mean the end. A signal just before a `read` is noticed after it, at most 5 s later.
 *
 * A shell that can start no process ends with an error. Then `exec` replaces it, which needs no new process. The new shell kills
 * the group first, which makes room for the search. It does not try for ever. Dash kills a group only with the form
 * `kill -s KILL --`.
 *
 * `pkill -f` searches this text. The text names neither the tool nor the command, so that a pattern for these spares this
 * process. The process is called `sh` in any case: the command may be bash, and `pkill -x bash` may be meant for it.
 */
const SCRIPT = `
trap "" HUP INT QUIT TERM USR1 PIPE
id=$1 until=\${2:-0} left=0 group=$3 tries=\${4:-0} timed= early=0
leave() {
  trap - EXIT
  exit 0
}
count() {
  read -r up rest </proc/uptime || return
  left=$((until - \${up%.*} * 100 - (1\${up#*.} - 100)))
}
wait_for_line() {
  IFS= read -t "$(($1 / 100)).$(($1 / 10 % 10))$(($1 % 10))" -r line
}
hear() {
  if [ -z "$timed" ]; then
    read -r line
    return
  fi
  part=
  while :; do
    count
    was=$left last=$((left + 10)) limit=500
    [ -z "$id" ] || [ "$last" -ge "$limit" ] || limit=$((last + 1))
    [ "$limit" -gt 10 ] || limit=10
    wait_for_line "$limit" && line=$part$line && return
    part=$part$line early=$((early + 1))
    count || left=$((was - limit))
    if [ "$(((was - left) * 2))" -ge "$limit" ]; then
      early=0
      [ -z "$id" ] || [ "$last" -gt 0 ] || end
    fi
    [ "$early" -lt 3 ] || return
  done
}
end() {
  tries=$((tries + 1))
  [ "$tries" -lt 9999 ] || leave
  [ -z "$group" ] || kill -s KILL -- "-$group"
  for again in 1 2 3 4 5; do
    for file in $(grep -ls -- "$id" /proc/[0-9]*/environ; grep -ls -- ") . [0-9]* [0-9]* \${group:-none} " /proc/[0-9]*/stat); do
      pid=\${file#/proc/}
      kill -KILL "\${pid%/*}"
    done
    sleep 0.2
  done
  leave
}
read -t 1 -r line </dev/null
if [ "$?" -gt 1 ]; then
  [ -x /bin/bash ] && exec /bin/bash --posix --norc -c "$0" "$0" "$@"
elif count; then
  timed=1
fi
printf sh >/proc/$$/comm
trap leave USR2
trap 'exec /bin/sh -c "$0" "$0" "$id" "$until" "$group" "$tries"' EXIT
while hear; do
  case $line in
    done) leave ;;
    "order "*" .") ;;
    *) continue ;;
  esac
  set -- $line
  id=$2 until=$3 left=$4 group=\${5%.}
done
[ -n "$id" ] || leave
[ -n "$timed" ] && count && [ "$left" -gt 0 ] && wait_for_line "$left" <&3
end
`;

/** A shell that acts if the guard is killed or silent, and the wrapper does not act either. */
export class BackupGuard {
  /** Resolves if a signal has killed the shell. */
  readonly killed: Promise<NodeJS.Signals>;
  readonly #child: ChildProcess | undefined;

  /** Starts the shell. A failure is ignored, because the guard works without this additional layer. */
  constructor() {
    this.#child = start();
    this.#child?.on("error", () => {});
    this.killed = new Promise((resolve) => this.#child?.once("exit", (_code, signal) => void (signal && resolve(signal))));
    for (const pipe of [this.#child?.stdin, this.#wrapperLives]) pipe?.on("error", () => {});
    this.#wrapperLives?.unref();
  }

  /** The write end of the shell's pipe. Only the guard is to hold it. Undefined if there is no backup guard. */
  get input(): Writable | undefined {
    return this.#child?.pid === undefined ? undefined : (this.#child.stdin ?? undefined);
  }

  /** Closes the pipe in this process, once the guard has it. */
  leaveToGuard(): void {
    this.#child?.stdin?.destroy();
  }

  /** Ends the shell. Called when no process of the term is left. */
  dismiss(): void {
    this.#child?.kill("SIGUSR2");
    this.#wrapperLives?.destroy();
  }

  /** The pipe to the shell's descriptor 3. Nothing is written to it. It ends with this process. */
  get #wrapperLives(): Socket | undefined {
    return (this.#child?.stdio?.[3] as Socket | null | undefined) ?? undefined;
  }
}

function start(): ChildProcess | undefined {
  const { PATH = "/usr/bin:/bin" } = process.env;
  try {
    const stdio = ["pipe", "ignore", "ignore", "pipe"] as const;
    return spawn("/bin/sh", ["-c", SCRIPT, SCRIPT], { detached: true, cwd: "/", env: { PATH }, stdio: [...stdio] });
  } catch {
    return undefined;
  }
}
