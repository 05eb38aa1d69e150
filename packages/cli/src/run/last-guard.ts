import { spawn, type ChildProcess } from "node:child_process";
import type { Writable } from "node:stream";
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
  /** The end of its pipe that the guard is to hold as well; it has to outlive the guard's start. Undefined if there is no last guard. */
  readonly input: Writable | undefined;

  /** It is one layer more: where it cannot be started, the guard stands alone. */
  constructor(termId: string) {
    const child = start(termId);
    child?.on("error", () => {});
    // There are no pipes where there are no more file descriptors.
    const { pid, stdin }: Partial<ChildProcess> = child ?? {};
    stdin?.on("error", () => {});
    this.input = pid === undefined ? undefined : (stdin as Writable);
  }

  /** CMD has been started. */
  learn({ pid }: GroupLeader): void {
    this.input?.write(`${pid}\n`);
  }

  dismiss(): void {
    this.input?.write("done\n");
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
