import { spawn, type ChildProcess } from "node:child_process";
import type { Stream } from "node:stream";
import type { GroupLeader } from "./process-table.ts";

/**
 * Waits for the end of its input, which the wrapper and the guard hold open. It comes without `done` only if both of them were
 * killed; then CMD's group is killed at once, and whatever has the term's id in its environment.
 */
const SCRIPT = `
trap "" HUP INT QUIT TERM
leader=
while read -r word; do
  case $word in done) exit 0 ;; *) leader=$word ;; esac
done
[ -z "$leader" ] || kill -KILL -- "-$leader"
for again in 1 2 3 4 5; do
  for file in $(grep -ls -- "$1" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}
    kill -KILL "\${pid%/environ}"
  done
  sleep 0.2
done
`;

/** The guard of the guard: a shell, of about a megabyte, for when the wrapper and the guard are killed together. */
export class LastGuard {
  readonly #child: ChildProcess | undefined;

  /** It is one layer more: where it cannot be started, the guard stands alone. */
  constructor(termId: string) {
    this.#child = start(termId);
    this.#child?.unref();
    (this.#child?.stdin as Partial<{ unref(): void }> | undefined)?.unref?.();
    this.#child?.on("error", () => {});
    this.#child?.stdin?.on("error", () => {});
  }

  /** The end of its pipe that the guard is to hold as well; it has to outlive the guard's start. */
  get input(): Stream | undefined {
    return this.#child?.pid === undefined ? undefined : (this.#child.stdin ?? undefined);
  }

  /** CMD has been started. */
  learn({ pid }: GroupLeader): void {
    this.#write(String(pid));
  }

  dismiss(): void {
    this.#write("done");
  }

  #write(line: string): void {
    if (this.#child?.stdin?.writable === true) this.#child.stdin.write(`${line}\n`);
  }
}

function start(termId: string): ChildProcess | undefined {
  const { PATH = "/usr/bin:/bin" } = process.env;
  try {
    return spawn("/bin/sh", ["-c", SCRIPT, "leasehold-last-guard", termId], {
      detached: true,
      cwd: "/",
      env: { PATH },
      stdio: ["pipe", "ignore", "ignore"],
    });
  } catch {
    return undefined;
  }
}
