import { onAbort } from "../time/clock.ts";

/** About the number of connections of an SDK. If a thousand campaigns began at once, requests would time out in its queue. */
const AT_ONCE = 50;

/** Limits how many campaigns of a process begin at a time on one store. The others wait, in order. */
export class CampaignStartLimiter {
  #begun = 0;
  readonly #waiting = new Set<() => void>();

  /** Runs a step when its turn comes. @throws the signal's reason if that aborts while the step waits. */
  async take<T>(step: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#begun < AT_ONCE) this.#begun += 1;
    else await this.#turn(signal);
    try {
      return await step();
    } finally {
      const [next] = this.#waiting;
      if (next) next();
      else this.#begun -= 1;
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const stopListening = onAbort(signal, (reason) => {
        this.#waiting.delete(onTurn);
        reject(reason);
      });
      const onTurn = (): void => {
        this.#waiting.delete(onTurn);
        stopListening();
        resolve();
      };
      this.#waiting.add(onTurn);
    });
  }
}
