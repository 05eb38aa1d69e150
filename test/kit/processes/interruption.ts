/** A shell's exit code for a program that the signal ended: 128 and the signal's number. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

/** Somebody ended this program before its end, which is no fault of it: the message says all there is to say. */
export class Interrupted extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * Calls `interrupt` with {@link Interrupted} whenever a signal asks this program to end, and with an error when its output
 * cannot be written any more. Signals do not end the process from then on: the caller does, once it has cleaned up.
 *
 * @param program what the message says was ended.
 */
export function onInterruption(program: string, interrupt: (reason: Error) => void): void {
  for (const [signal, exitCode] of Object.entries(EXIT_CODES)) {
    // Not `once`: a second Ctrl-C must not end this process while it cleans up.
    process.on(signal, () => interrupt(new Interrupted(`${program} was ended by ${signal}.`, exitCode)));
  }
  // The reader of a pipe may leave: `npm run demo | head`.
  process.stdout.on("error", interrupt);
}
