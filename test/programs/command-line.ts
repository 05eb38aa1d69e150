/**
 * Returns a program's options, read from its arguments. Returns `undefined` after a request for help. It does the same after a wrong
 * argument, once the error is printed and the exit code is set.
 */
export function commandLine<T extends { readonly help: boolean }>(
  read: (args: readonly string[]) => T,
  usage: string,
): T | undefined {
  try {
    const told = read(process.argv.slice(2));
    if (!told.help) return told;
    process.stdout.write(usage);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`);
    process.exitCode = 2;
  }
  return undefined;
}

/** The number that an option gives. @throws an error that says which numbers may be given. */
export function wholeNumber(option: string, text: string, least: number, most: number = 2 ** 31): number {
  const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new TypeError(`Option '--${option}' is '${text}'; it must be a whole number from ${least} to ${most}.`);
}

/** The one of several names that an option gives. @throws an error that says which there are. */
export function oneOf<T extends string>(option: string, text: string, names: readonly T[]): T {
  const named = names.find((name) => name === text);
  if (named !== undefined) return named;
  throw new TypeError(`Option '--${option}' is '${text}'; it must be one of ${names.join(", ")}.`);
}

/** @throws an error where a process cannot be frozen. */
export function assertProcessesFreeze(): void {
  if (process.platform === "win32") throw new Error("Processes are frozen with SIGSTOP, which Windows does not have.");
}
