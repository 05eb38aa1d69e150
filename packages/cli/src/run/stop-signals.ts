import { systemClock } from "@leasehold/core/provider";

/** Signals that ask the wrapper to stop. CMD gets the same signal. */
const STOPPING = ["SIGTERM", "SIGINT", "SIGQUIT"] as const;
/** Signals that mean nothing to the wrapper. Only CMD's own process gets them: its children could die for lack of a handler. */
const PASSED_ON = ["SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH"] as const;

/** Reports whether a signal asks a process to end. Such a signal goes to every process that CMD has started. */
export function isStopping(signal: NodeJS.Signals): boolean {
  return STOPPING.some((each) => each === signal);
}

/** The reason of an abort after a signal that asked this process to stop. */
export class StopRequest extends Error {
  readonly signal: NodeJS.Signals;
  /** The instant at which it was received, by the monotonic clock. */
  readonly atMs: number = systemClock.monotonicMs();

  constructor(signal: NodeJS.Signals) {
    super(`${signal} was received.`);
    this.name = "StopRequest";
    this.signal = signal;
  }
}

/** Handles the signals that this process gets while it has a command to run. */
export class StopSignals implements Disposable {
  /** Passes a signal on to CMD. Returns false while CMD does not run. */
  passOn: (signal: NodeJS.Signals) => boolean = () => false;
  readonly #stop = new AbortController();
  readonly #listeners: ReadonlyArray<readonly [NodeJS.Signals, () => void]>;

  /** @param ignoresHangup whether HUP is to do nothing, as `nohup` asks. */
  constructor(ignoresHangup: boolean) {
    const onStop = (signal: NodeJS.Signals): void => {
      // The first signal begins the drain, which passes it on. CMD may wait for a second one, so pass that on here.
      if (this.stopped.aborted) this.passOn(signal);
      else this.#stop.abort(new StopRequest(signal));
    };
    const onOther = (signal: NodeJS.Signals): void => {
      if (signal === "SIGHUP" && ignoresHangup) return;
      // While no CMD runs, the end of the terminal stops the wrapper.
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
