import type { Clock, Timer } from "@leasehold/core";

/** How often it looks whether npx is still there. */
const POLL_MS = 500;

/** What an `NpxWatch` knows of its process. */
export interface NpxChild {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Returns the id of this process's present parent. */
  readonly parent: () => number;
  /** Called once, when npx has ended. */
  readonly onGone: () => void;
}

/**
 * Notices that the `npx` that started this process has ended. npx passes no signal on: a supervisor that sends it TERM would leave this
 * process behind, leading. Other parents may end on purpose, and so are not watched.
 */
export class NpxWatch implements Disposable {
  readonly #child: NpxChild;
  readonly #first: number;
  #timer: Timer | undefined;

  constructor(child: NpxChild) {
    this.#child = child;
    this.#first = child.parent();
    if (isStartedByNpx(child.env)) this.#look();
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
  }

  #look(): void {
    const { clock, parent, onGone } = this.#child;
    if (parent() === this.#first) this.#timer = clock.setTimer(() => this.#look(), POLL_MS);
    else onGone();
  }
}

/** A command of `run` inherits npx's variables from its wrapper, and has another parent. */
function isStartedByNpx(env: NpxChild["env"]): boolean {
  const { npm_command: verb, npm_lifecycle_event: event, npm_lifecycle_script: script = "", LEASEHOLD_TERM_ID: outer } = env;
  return verb === "exec" && event === "npx" && script.includes("leasehold") && outer === undefined;
}
