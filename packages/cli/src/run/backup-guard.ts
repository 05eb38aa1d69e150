import { spawn, type ChildProcess } from "node:child_process";
import type { Writable } from "node:stream";

/**
 * Reads lines from the guard. A line is `done`, or has three fields: the term's id, the kill instant, and the command's group.
 * The kill instant is in hundredths of a second of the kernel's uptime. The group is absent until the command has started.
 *
 * The input ends without `done` only if the guard was killed. Then the script waits while the wrapper lives, until the kill
 * instant, because a live wrapper ends the command itself. After the wait the script kills the group, the rest of its session, and
 * every process that has the term's id in its environment.
 *
 * A frozen guard keeps the input open. So each order also starts a timer, which replaces the one before. The timer kills 0.2 s
 * after the kill instant. A wrapper that still runs has noticed before that the guard does not answer. The timer does nothing if
 * the script is dead or frozen, because no order would replace it then.
 *
 * A shell that can start no process ends with an error. Then `exec` replaces it, which needs no new process. The new shell kills
 * the group first, which makes room for the search. It does not try for ever. A timer starts no process before it kills the group.
 * Dash kills a group only with the form `kill -s KILL --`.
 *
 * The script waits for each timer that it ends, and the timer for its `sleep`. Otherwise each order would leave a zombie. CONT
 * keeps this wait short even if somebody has stopped the timer.
 *
 * `pkill -f` searches this text. The text names neither the tool nor the command, so that a pattern for these spares this
 * process.
 */
const SCRIPT = `
trap "" HUP INT QUIT TERM
trap 'stop; leave' USR2
id=$1 until=\${2:-0} group=$3 timer=$4 tries=$5
trap 'exec /bin/sh -c "$0" "$0" "$id" "$until" "$group" "$timer" "$tries"' EXIT
leave() {
  trap - EXIT
  exit 0
}
stop() {
  [ -n "$timer" ] || return 0
  kill -USR1 "$timer"
  kill -CONT "$timer"
  wait "$timer"
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
}
while read -r first second third; do
  stop
  [ "$first" = done ] && leave
  id=$first until=$second group=$third timer=
  read -r up rest </proc/uptime || continue
  left=$((until + 20 - \${up%.*} * 100 - (1\${up#*.} - 100)))
  [ "$left" -gt 0 ] || left=0
  (
    before=$!
    trap '[ "$!" = "$before" ] || kill -KILL "$!"; wait "$!"; exit' USR1
    sleep "$((left / 100)).$((left / 10 % 10))" &
    wait "$!"
    trap exit USR1
    read -r stat </proc/$$/stat || exit
    case \${stat##*) } in [TtZX]*) ;; *) end ;; esac
  ) &
  timer=$!
done
[ -n "$id" ] || leave
lives() { read -r stat </proc/$PPID/stat && [ "$stat" = "\${stat%) [ZX] *}" ] && read -r up rest </proc/uptime; }
while lives && [ "\${up%.*}\${up#*.}" -lt "$until" ]; do sleep 0.1; done
end
stop
leave
`;

/** A shell of about 1 MB that acts if the guard is killed or silent, and the wrapper does not act either. */
export class BackupGuard {
  readonly #child: ChildProcess | undefined;

  /** Starts the shell. A failure is ignored, because the guard works without this additional layer. */
  constructor() {
    this.#child = start();
    this.#child?.on("error", () => {});
    this.#child?.stdin?.on("error", () => {});
  }

  /** The write end of the shell's pipe. Only the guard is to hold it. Undefined if there is no backup guard. */
  get input(): Writable | undefined {
    return this.#child?.pid === undefined ? undefined : (this.#child.stdin ?? undefined);
  }

  /** Closes the pipe in this process, once the guard has it. */
  leaveToGuard(): void {
    this.#child?.stdin?.destroy();
  }

  /** Ends the shell and its timer. Called when no process of the term is left. */
  dismiss(): void {
    this.#child?.kill("SIGUSR2");
  }
}

function start(): ChildProcess | undefined {
  const { PATH = "/usr/bin:/bin" } = process.env;
  try {
    const stdio = ["pipe", "ignore", "ignore"] as const;
    return spawn("/bin/sh", ["-c", SCRIPT, SCRIPT], { detached: true, cwd: "/", env: { PATH }, stdio: [...stdio] });
  } catch {
    return undefined;
  }
}
