/** The step that passes something on. */
type Act = () => void;

/** Runs steps in the order in which they came, each after the delay that was given with it. */
export class DelayLine {
  #waiting: Array<{ readonly dueMs: number; readonly act: Act }> = [];
  #timer: NodeJS.Timeout | undefined;

  /** Runs a step, at once if there is no delay and no earlier step waits. A later step never runs before an earlier one. */
  pass(act: Act, delayMs = 0): void {
    if (delayMs <= 0 && this.#waiting.length === 0) {
      act();
      return;
    }
    const last = this.#waiting.at(-1);
    this.#waiting.push({ dueMs: Math.max(performance.now() + delayMs, last?.dueMs ?? 0), act });
    this.#arm();
  }

  /** Drops the steps that still wait. */
  clear(): void {
    this.#waiting = [];
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #arm(): void {
    const next = this.#waiting[0];
    if (this.#timer || !next) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        const nowMs = performance.now();
        // Runs one step at a time, because any of them may clear the rest.
        while (this.#waiting[0] && this.#waiting[0].dueMs <= nowMs) this.#waiting.shift()?.act();
        this.#arm();
      },
      Math.max(next.dueMs - performance.now(), 0),
    );
  }
}
