import type { Clock } from "@leasehold/core/provider";
import type { LeaseStore } from "@leasehold/core";
import type { Command } from "commander";

/** A destination for the output of a verb. */
export interface Output {
  readonly isTerminal: boolean;
  write(text: string): void;
}

/** Everything that a verb uses of its process. Tests pass a replacement. */
export interface ProcessEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  /** For results. */
  readonly stdout: Output;
  /** For messages to people. */
  readonly stderr: Output;
  readonly clock: Clock;
  /** Opens the store that a checked URL names. */
  readonly openStore: (url: string) => Promise<LeaseStore & AsyncDisposable>;
  /** Opens the store that a checked URL names and that candidates have used already. Creates nothing. */
  readonly openUsedStore: (url: string) => Promise<LeaseStore & AsyncDisposable>;
  /** Asks a person at the terminal. Resolves with true only for the answer `yes`. Undefined without a terminal. */
  readonly ask: ((question: string) => Promise<boolean>) | undefined;
  /** Returns a signal that aborts when the process gets INT, TERM or, unless `nohup` started it, HUP. The process listens from the first call on. */
  readonly untilStopped: () => AbortSignal;
  /** Sends TERM to this process, and says so, once the npx that started it has ended. Does nothing if npx did not start it. */
  readonly watchNpx: (tell: (line: string) => void) => Disposable;
}

/** One verb of the command. Each file in `verbs/` exports one as `verb`. */
export interface Verb {
  /** Adds the verb's arguments and options. */
  define(command: Command): void;
  /** Runs the verb and returns its exit code. A thrown error is printed to stderr and mapped to an exit code. */
  act(command: Command, environment: ProcessEnvironment): Promise<number>;
}
