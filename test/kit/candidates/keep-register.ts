import { setTimeout as delay } from "node:timers/promises";
import { isLeaseholdError, type Leadership } from "@leasehold/core";
import type { GuardedDocument } from "../stores/test-store.ts";
import { SeededRandom } from "@leasehold/core/testing";
import { append } from "./register.ts";

/** How a worker keeps the register while it leads. */
export interface RegisterHabits {
  /** The name of this process, which no other one ever has. */
  readonly worker: string;
  readonly seed: number;
  /** The work between two writes, on average. */
  readonly everyMs: number;
  /** A write that takes longer ends the term. */
  readonly patienceMs: number;
  /** How long a task goes on at most once its signal has aborted. */
  readonly stubbornMs: number;
}

/** A worker's words on the register. */
export type RegisterEvent =
  /** Whatever the terms before this one still send is refused from now on. Only said where the store has to be told so. */
  | { readonly event: "sealed"; readonly term: number }
  /** This entry is about to be sent. */
  | { readonly event: "appending"; readonly term: number; readonly sequence: number }
  /** How that ended: `ok`, `refused` by the service, or the error, which may leave open whether it was written. */
  | { readonly event: "appended"; readonly term: number; readonly sequence: number; readonly outcome: string };

export interface Keeping {
  readonly leadership: Leadership;
  readonly register: GuardedDocument;
  readonly isRefusal: (error: unknown) => boolean;
  readonly habits: RegisterHabits;
  readonly say: (event: RegisterEvent) => void;
}

/** The error of a task that fails; there is nothing wrong with that. */
export class DeliberateFailure extends Error {
  override readonly name = "DeliberateFailure";
}

/** One term's task: some end by themselves, some fail, some ignore their signal for a while. */
interface Mood {
  readonly endsAfterMs: number;
  readonly fails: boolean;
  readonly lingersMs: number;
  /** When it writes once more, so long after it has settled, and again after as long; undefined if it does not. */
  readonly lateMs: number | undefined;
}

/**
 * The task of a leader: it writes one entry after another. It never asks whether it still leads before it writes, so that
 * nothing but the service's own refusal keeps a stale one out. One write at a time, but it does not always wait for the
 * last one before it settles.
 */
export async function keepRegister(keeping: Keeping): Promise<void> {
  const { leadership, habits } = keeping;
  const { signal, term } = leadership;
  // Not the same in every term of a worker, nor in the same term of two.
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

  /** `ok`, if there is nothing to seal. */
  async seal(): Promise<string> {
    const { leadership, register, say } = this.#keeping;
    if (!register.seal) return "ok";
    for (;;) {
      const outcome = await this.#outcomeOf(register.seal(leadership));
      if (outcome === "ok") say({ event: "sealed", term: leadership.term });
      // Without a seal, no work.
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

  /** Twice more, when the term is over. Nobody waits for it. */
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

/** When a task has to end: so long after its signal has aborted. */
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

  /** What is waited for, or undefined if the task has to end first, or it takes longer than `patienceMs`. */
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
