import { systemClock } from "@leasehold/core";

/** These ask the wrapper to stop; CMD gets the one that came. */
const STOPPING = ["SIGTERM", "SIGINT", "SIGQUIT"] as const;
/** These mean nothing to the wrapper. They are for CMD's own process: another that it has started may have no handler, and die. */
const PASSED_ON = ["SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH"] as const;

/** Reports whether a signal asks a process to end, and so is for everything that CMD has started. */
export function isStopping(signal: NodeJS.Signals): boolean {
  return STOPPING.some((each) => each === signal);
}

/** A signal asked this process to stop: the reason of an abort. */
export class StopRequest extends Error {
  readonly signal: NodeJS.Signals;
  /** When it was received, by the monotonic clock. */
  readonly atMs: number = systemClock.monotonicMs();

  constructor(signal: NodeJS.Signals) {
    super(`${signal} was received.`);
    this.name = "StopRequest";
    this.signal = signal;
  }
}

/** The signals that this process gets while it has something to run. */
export class StopSignals implements Disposable {
  /** Passes a signal on to CMD; false while there is none. */
  passOn: (signal: NodeJS.Signals) => boolean = () => false;
  readonly #stop = new AbortController();
  readonly #listeners: ReadonlyArray<readonly [NodeJS.Signals, () => void]>;

  /** @param ignoresHangup whether HUP is to do nothing, as `nohup` asks. */
  constructor(ignoresHangup: boolean) {
    const onStop = (signal: NodeJS.Signals): void => {
      // The first is passed on by the drain that it begins; a second one may be what CMD waits for.
      if (this.stopped.aborted) this.passOn(signal);
      else this.#stop.abort(new StopRequest(signal));
    };
    const onOther = (signal: NodeJS.Signals): void => {
      if (signal === "SIGHUP" && ignoresHangup) return;
      // A terminal that goes away ends who waits.
      if (!this.passOn(signal) && signal === "SIGHUP") onStop(signal);
    };
    this.#listeners = [
      ...STOPPING.map((signal) => [signal, () => onStop(signal)] as const),
      ...PASSED_ON.map((signal) => [signal, () => onOther(signal)] as const),
    ];
    for (const [signal, listener] of this.#listeners) process.on(signal, listener);
  }

  /** Aborts, with a {@link StopRequest}, once this process is asked to stop. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  [Symbol.dispose](): void {
    for (const [signal, listener] of this.#listeners) process.off(signal, listener);
  }
}
