import { isLeaseholdError } from "@leasehold/core";
import { CommanderError } from "commander";
import { CommandError, EXIT, exitCodeOf } from "./exit-codes.ts";
import { messageText } from "./text.ts";

/** An error for programs: the field `error` of what `--json` prints. */
export interface ErrorReport {
  /** Stable: the library's code, or `USAGE`, `NOBODY_LEADS`, `NO_EFFECT`, `CONFIGURATION` or `UNEXPECTED`. */
  readonly code: string;
  readonly message: string;
  readonly election?: string | undefined;
  /** The address of the page that says what to do, for a failure of the library. */
  readonly help?: string | undefined;
  /** The exit code of the command. */
  readonly exitCode: number;
}

const CODES: Readonly<Record<number, string>> = {
  [EXIT.usage]: "USAGE",
  [EXIT.nobodyLeads]: "NOBODY_LEADS",
  [EXIT.notElected]: "NO_EFFECT",
  [EXIT.configuration]: "CONFIGURATION",
};

/** Describes an error that has ended a verb. The message shows no passwords. */
export function errorReport(error: unknown): ErrorReport {
  const message = messageText(error instanceof Error ? error.message.replace(/^error: /, "") : String(error));
  if (error instanceof CommanderError) return { code: "USAGE", message, exitCode: EXIT.usage };
  const exitCode = exitCodeOf(error);
  if (isLeaseholdError(error)) {
    const { code, election } = error;
    // The message of a mistake says itself what to do.
    const isMistake = code === "CONFIGURATION" || code === "UNSUPPORTED";
    return { code, message, election, help: isMistake ? undefined : error.help, exitCode };
  }
  const code = error instanceof CommandError ? CODES[exitCode] : undefined;
  return { code: code ?? "UNEXPECTED", message, exitCode };
}
