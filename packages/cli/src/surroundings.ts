import type { Clock, LeaseStore } from "@leasehold/core";

/** Where a verb writes to. */
export interface Output {
  readonly isTerminal: boolean;
  write(text: string): void;
}

/** All that a verb touches of its process, so that a test can give another. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  /** Results. */
  readonly stdout: Output;
  /** What is said to people. */
  readonly stderr: Output;
  readonly clock: Clock;
  /** Opens the store that a checked URL names. */
  readonly openStore: (url: string) => Promise<LeaseStore & AsyncDisposable>;
  /** Opens the store that a checked URL names, and that candidates have used already; makes nothing. */
  readonly openUsedStore: (url: string) => Promise<LeaseStore & AsyncDisposable>;
  /** Asks a person, who has to answer `yes`; undefined where nobody sits at a terminal. */
  readonly ask: ((question: string) => Promise<boolean>) | undefined;
  /** Returns a signal that aborts when the process is told to end (INT, TERM), from the first call on. */
  readonly untilStopped: () => AbortSignal;
  /** Asks this process to end, and says so, once the npx that started it has ended. Does nothing where npx did not start it. */
  readonly watchNpx: (tell: (line: string) => void) => Disposable;
}
