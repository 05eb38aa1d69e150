import type { Clock, Timer } from "@leasehold/core/provider";

/** The time between two checks whether npx still runs. */
const POLL_MS = 500;

/** The parts of a process that an `NpxWatch` needs. */
export interface NpxChild {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Returns the pid of this process's present parent. */
  readonly parent: () => number;
  /** Returns the pid of a shell's present parent. Undefined if the process is no shell, or the system does not show it. */
  readonly parentOfShell: (pid: number) => number | undefined;
  /** Called once, when npx has ended. */
  readonly onGone: () => void;
}

/**
 * Notices that the `npx` that started this process has ended. The program `npx` passes no signal on. After a supervisor's TERM to
 * `npx`, this process would go on and lead. Some shells stay between `npx` and this process; then `npx` is the shell's parent.
 * Other parents may end on purpose, so they are not watched.
 */
export class NpxWatch implements Disposable {
  readonly #child: NpxChild;
  readonly #parent: number;
  readonly #grandparent: number | undefined;
  #timer: Timer | undefined;

  constructor(child: NpxChild) {
    this.#child = child;
    this.#parent = child.parent();
    this.#grandparent = child.parentOfShell(this.#parent);
    if (isStartedByNpx(child.env)) this.#poll();
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
  }

  #poll(): void {
    const { clock, parent, parentOfShell, onGone } = this.#child;
    const isThere = parent() === this.#parent && (parentOfShell(this.#parent) ?? this.#grandparent) === this.#grandparent;
    if (isThere) this.#timer = clock.setTimer(() => this.#poll(), POLL_MS);
    else onGone();
  }
}

/** Reports whether npx is the parent. A command of `run` inherits npx's variables too, but has `LEASEHOLD_TERM_ID` as well. */
function isStartedByNpx(env: NpxChild["env"]): boolean {
  const { npm_command: verb, npm_lifecycle_event: event, npm_lifecycle_script: script = "", LEASEHOLD_TERM_ID: outer } = env;
  return verb === "exec" && event === "npx" && script.includes("leasehold") && outer === undefined;
}
