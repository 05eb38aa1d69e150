/** The step that passes something on. */
type Act = () => void;

/** Does what it is given in the order in which it came, each after the delay that was asked for when it came. */
export class DelayLine {
  #waiting: Array<{ readonly dueMs: number; readonly act: Act }> = [];
  #timer: NodeJS.Timeout | undefined;

  /** At once, if nothing is to be waited for. What comes later never comes first. */
  pass(act: Act, delayMs = 0): void {
    if (delayMs <= 0 && this.#waiting.length === 0) {
      act();
      return;
    }
    const last = this.#waiting.at(-1);
    this.#waiting.push({ dueMs: Math.max(performance.now() + delayMs, last?.dueMs ?? 0), act });
    this.#arm();
  }

  /** Forgets what is still to be done. */
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
        // One at a time: any of them may clear the rest.
        while (this.#waiting[0] && this.#waiting[0].dueMs <= nowMs) this.#waiting.shift()?.act();
        this.#arm();
      },
      Math.max(next.dueMs - performance.now(), 0),
    );
  }
}
