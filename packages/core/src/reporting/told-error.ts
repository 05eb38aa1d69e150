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
  // Anything can be thrown: it is only asked for text.
  const { name, message } = (error ?? {}) as { readonly name?: unknown; readonly message?: unknown };
  const words = [message, error].find((value) => typeof value === "string") ?? "something was thrown that is no error";
  return { code: typeof name === "string" ? name : "Error", message: discreet(words) };
}
