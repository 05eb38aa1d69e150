/** A shell's exit code for a program that the signal ended: 128 and the signal's number. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

/** A signal ended this program early, which is no fault of the program. The message says everything. */
export class Interrupted extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * Calls `interrupt` with {@link Interrupted} whenever a signal asks this program to end. Calls it with an error when the output
 * cannot be written any more. From then on signals do not end the process: the caller does, once it has cleaned up.
 * @param program the name of the program in the message.
 */
export function onInterruption(program: string, interrupt: (reason: Error) => void): void {
  for (const [signal, exitCode] of Object.entries(EXIT_CODES)) {
    // Not `once`: a second Ctrl-C must not end this process while it cleans up.
    process.on(signal, () => interrupt(new Interrupted(`${program} was ended by ${signal}.`, exitCode)));
  }
  // The reader of a pipe may end: `npm run demo | head`.
  process.stdout.on("error", interrupt);
}
