import { setTimeout as delay } from "node:timers/promises";
import { isLeaseholdError, type Leadership } from "@leasehold/core";
import type { GuardedDocument } from "../stores/test-store.ts";
import { SeededRandom } from "@leasehold/core/testing";
import { append } from "./register.ts";

/** The parameters of a worker that keeps the register while it leads. */
export interface RegisterHabits {
  /** The unique name of this process. */
  readonly worker: string;
  readonly seed: number;
  /** The average time of work between two writes. */
  readonly everyMs: number;
  /** A write that takes longer ends the term. */
  readonly patienceMs: number;
  /** The longest time for which a task continues after its signal has aborted. */
  readonly stubbornMs: number;
}

/** A worker's events about the register. */
export type RegisterEvent =
  /** From now on the writes of all earlier terms are refused. Only printed if the store needs a seal. */
  | { readonly event: "sealed"; readonly term: number }
  /** This entry is about to be sent. */
  | { readonly event: "appending"; readonly term: number; readonly sequence: number }
  /** The outcome of this write: `ok`, `refused` by the service, or the error, after which it may have been written or not. */
  | { readonly event: "appended"; readonly term: number; readonly sequence: number; readonly outcome: string };

export interface Keeping {
  readonly leadership: Leadership;
  readonly register: GuardedDocument;
  readonly isRefusal: (error: unknown) => boolean;
  readonly habits: RegisterHabits;
  readonly say: (event: RegisterEvent) => void;
}

/** The error of a task that fails on purpose. */
export class DeliberateFailure extends Error {
  override readonly name = "DeliberateFailure";
}

/** The behaviour of one term's task: some end by themselves, some fail, some ignore their signal for a while. */
interface Mood {
  readonly endsAfterMs: number;
  readonly fails: boolean;
  readonly lingersMs: number;
  /** The time after its end at which it writes once more, and after as long again; undefined if it does not. */
  readonly lateMs: number | undefined;
}

/**
 * The task of a leader: it writes one entry after another. It never checks whether it still leads before a write. So only the
 * service's own refusal stops a stale write. It makes one write at a time, and does not always wait for the last one before it
 * settles.
 */
export async function keepRegister(keeping: Keeping): Promise<void> {
  const { leadership, habits } = keeping;
  const { signal, term } = leadership;
  // The dice differ between the terms of a worker, and between workers in the same term.
  const dice = new SeededRandom((habits.seed + term * 0x9e3779b9) % 2 ** 32);
  const mood = moodOf(dice, habits);
  const writer = new Writer(keeping);
  using end = new End(signal, mood.lingersMs);
  const beganMs = performance.now();

  let lastOutcome = await end.unless(writer.seal(), habits.patienceMs);
  while (lastOutcome !== undefined && lastOutcome !== "refused") {
    lastOutcome = await end.unless(writer.write(), habits.patienceMs);
    if (performance.now() - beganMs > mood.endsAfterMs) {
      if (mood.fails) throw new DeliberateFailure("This task fails now and then.");
      break;
    }
    if ((await end.unless(delay(habits.everyMs * dice.between(0.5, 1.5), "rested"))) === undefined) break;
  }
  if (mood.lateMs !== undefined) void writer.writeLate(mood.lateMs);
}

function moodOf(dice: SeededRandom, { patienceMs, stubbornMs }: RegisterHabits): Mood {
  return {
    endsAfterMs: dice.chance(0.25) ? dice.between(0, 3 * patienceMs) : Infinity,
    fails: dice.chance(0.3),
    lingersMs: dice.chance(0.5) ? dice.between(0, stubbornMs) : 0,
    lateMs: dice.chance(0.85) ? dice.between(0, 1.5 * patienceMs) : undefined,
  };
}

/** Writes the entries of one term, one at a time. */
class Writer {
  readonly #keeping: Keeping;
  #sequence = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(keeping: Keeping) {
    this.#keeping = keeping;
  }

  /** Returns `ok` if there is nothing to seal. */
  async seal(): Promise<string> {
    const { leadership, register, say } = this.#keeping;
    if (!register.seal) return "ok";
    for (;;) {
      const outcome = await this.#outcomeOf(register.seal(leadership));
      if (outcome === "ok") say({ event: "sealed", term: leadership.term });
      // Without a seal it does no work.
      if (outcome === "ok" || outcome === "refused") return outcome;
      await delay(this.#keeping.habits.everyMs, undefined, { ref: false });
      if (leadership.signal.aborted) return outcome;
    }
  }

  write(): Promise<string> {
    const written = this.#write();
    this.#last = written;
    return written;
  }

  /** Writes twice more when the term is over. No caller waits for it. */
  async writeLate(afterMs: number): Promise<void> {
    for (let times = 0; times < 2; times += 1) {
      await this.#last;
      await delay(afterMs, undefined, { ref: false });
      await this.write();
    }
  }

  async #write(): Promise<string> {
    const { leadership, register, habits, say } = this.#keeping;
    const { term } = leadership;
    const sequence = ++this.#sequence;
    say({ event: "appending", term, sequence });
    const entry = { term, worker: habits.worker, sequence };
    const outcome = await this.#outcomeOf(register.update(leadership, (content) => append(content, entry)));
    say({ event: "appended", term, sequence, outcome });
    return outcome;
  }

  async #outcomeOf(doing: Promise<void>): Promise<string> {
    try {
      await doing;
      return "ok";
    } catch (error) {
      if (this.#keeping.isRefusal(error)) return "refused";
      return isLeaseholdError(error) ? error.code : String(error);
    }
  }
}

/** Ends a task a certain time after its signal has aborted. */
class End {
  readonly #over = Promise.withResolvers<undefined>();
  readonly #signal: AbortSignal;
  readonly #onAbort: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(signal: AbortSignal, lingersMs: number) {
    this.#signal = signal;
    this.#onAbort = () => (this.#timer = setTimeout(() => this.#over.resolve(undefined), lingersMs));
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  /**
   * Returns the result of `doing`. Returns undefined if the task has to end first, or if `doing` takes longer than `patienceMs`.
   */
  async unless<T>(doing: Promise<T>, patienceMs?: number): Promise<T | undefined> {
    const patience = Promise.withResolvers<undefined>();
    const timer = patienceMs === undefined ? undefined : setTimeout(() => patience.resolve(undefined), patienceMs);
    try {
      return await Promise.race([doing, this.#over.promise, patience.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener("abort", this.#onAbort);
  }
}
