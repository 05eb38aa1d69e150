/** All time and randomness of Leasehold, so that a simulation can run the real code under a virtual clock. */
export interface Clock {
  /** Milliseconds from an arbitrary origin. Never goes back. May stand still while the machine is suspended. */
  monotonicMs(): number;
  /** Milliseconds since the Unix epoch, as this machine believes. May jump either way. */
  wallMs(): number;
  /** Calls `callback` once, at least `delayMs` from now by the monotonic clock. A negative delay counts as none. */
  setTimer(callback: () => void, delayMs: number): Timer;
  /** A number in [0, 1), for jitter. */
  random(): number;
  /** A fresh version 4 UUID. The system's clock returns unguessable ones. */
  randomUuid(): string;
}

export interface Timer {
  /** Prevents the callback from running. Does nothing once it has run. */
  cancel(): void;
}

/** One moment on both clocks of one process. It has no meaning in any other process. */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** The longest delay that Node's timers take, 2^31 - 1 ms. A longer one would fire at once. */
export const MAX_TIMER_MS: number = 2_147_483_647;

class SystemTimer implements Timer {
  readonly #handle: NodeJS.Timeout;

  constructor(callback: () => void, delayMs: number) {
    this.#handle = setTimeout(callback, delayMs);
  }

  cancel(): void {
    clearTimeout(this.#handle);
  }
}

/** The clocks, timers and randomness of this process. Its timers keep the process alive until they run or are cancelled. */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  setTimer: (callback, delayMs) => new SystemTimer(callback, Math.min(Math.max(delayMs, 0), MAX_TIMER_MS)),
  random: () => Math.random(),
  randomUuid() {
    const uuid = crypto.randomUUID();
    // The text comes in a dozen pieces, which V8 joins when a character is read. Otherwise a lease would keep a kilobyte of them.
    uuid.charCodeAt(0);
    return uuid;
  },
};

export function instantOf(clock: Clock): Instant {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}

/** Returns the time since `since` by the clock that ran further: one may stop in a suspended machine, the other be set back. */
export function holderElapsedMs(clock: Clock, since: Instant): number {
  return elapsedMs(instantOf(clock), since);
}

export function elapsedMs(now: Instant, since: Instant): number {
  return Math.max(now.monotonicMs - since.monotonicMs, now.wallMs - since.wallMs);
}

/** Calls `listener` with the reason when the signal aborts, unless it has aborted already. Returns a function that stops this. */
export function onAbort(signal: AbortSignal | undefined, listener: (reason: Error) => void): () => void {
  const heard = (): void => listener(signal?.reason as Error);
  signal?.addEventListener("abort", heard, { once: true });
  return () => signal?.removeEventListener("abort", heard);
}

/** Resolves after `delayMs`. @throws the signal's own reason, as soon as it aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const timer = clock.setTimer(() => {
      stopListening();
      resolve();
    }, delayMs);
    const stopListening = onAbort(signal, (reason) => {
      timer.cancel();
      reject(reason);
    });
  });
}

export function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** Returns the milliseconds from the Unix epoch to the time that the text names, or NaN. */
export function msOfIso(text: string): number {
  return Date.parse(text);
}
