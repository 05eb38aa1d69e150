import { discreet } from "./discreet.ts";
import { isLeaseholdError } from "./errors.ts";

/** An error as loggers and health checks print it: its own fields that survive being made JSON. */
export interface ToldError {
  /** The code of an error of Leasehold's, else the error's name. */
  readonly code: string;
  readonly message: string;
}

/** Returns an error in words, with nothing secret: those of Leasehold hold nothing, and of others the first line is cleaned. */
export function toldError(error: unknown): ToldError {
  if (isLeaseholdError(error)) return { code: error.code, message: error.message };
  const { name = "Error", message = String(error) } = (error ?? {}) as Partial<Error>;
  return { code: name, message: discreet(message) };
}
