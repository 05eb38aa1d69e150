import { spawn, type ChildProcess } from "node:child_process";
import type { Writable } from "node:stream";

/**
 * Reads lines of the guard: `done`, or the term's id, the instant at which its processes have to be killed, in hundredths of a second
 * of the kernel's uptime, and the command's group once there is one. The input ends without `done` only if the guard was killed.
 * While the wrapper lives, it ends the command itself, until that instant. Then the group is killed, and every process that has
 * the term's id in its environment.
 *
 * `pkill -f` searches this text. It names neither the tool nor what is run, so that a pattern for those spares this process.
 */
const SCRIPT = `
trap "" HUP INT QUIT TERM
id= until=0 group=
while read -r first second third; do
  [ "$first" = done ] && exit 0
  id=$first until=$second group=$third
done
[ -n "$id" ] || exit 0
while kill -0 "$PPID" && read -r up rest </proc/uptime && [ "\${up%.*}\${up#*.}" -lt "$until" ]; do sleep 0.1; done 2>/dev/null
[ -z "$group" ] || kill -KILL -- "-$group"
for again in 1 2 3 4 5; do
  for file in $(grep -ls -- "$id" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}
    kill -KILL "\${pid%/environ}"
  done
  sleep 0.2
done
`;

/** The guard of the guard: a shell, of about a megabyte, for when the guard is killed and the wrapper is killed or stands still. */
export class BackupGuard {
  readonly #child: ChildProcess | undefined;

  /** It is one layer more: where it cannot be started, the guard stands alone. */
  constructor() {
    this.#child = start();
    this.#child?.on("error", () => {});
    this.#child?.stdin?.on("error", () => {});
  }

  /** The end of its pipe that the guard alone is to hold. Undefined if there is no backup guard. */
  get input(): Writable | undefined {
    return this.#child?.pid === undefined ? undefined : (this.#child.stdin ?? undefined);
  }

  /** The guard holds the pipe now. */
  leaveToGuard(): void {
    this.#child?.stdin?.destroy();
  }

  /** Ends it: every process of the term is gone. */
  dismiss(): void {
    this.#child?.kill("SIGKILL");
  }
}

function start(): ChildProcess | undefined {
  const { PATH = "/usr/bin:/bin" } = process.env;
  try {
    const stdio = ["pipe", "ignore", "ignore"] as const;
    return spawn("/bin/sh", ["-c", SCRIPT], { detached: true, cwd: "/", env: { PATH }, stdio: [...stdio] });
  } catch {
    return undefined;
  }
}
