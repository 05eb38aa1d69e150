import { redact } from "./redact.ts";
import { isLeaseholdError } from "./errors.ts";

/** An error as loggers and health checks print it: the fields that survive JSON. */
export interface ErrorSummary {
  /** The code of an error of Leasehold's, else the error's name. */
  readonly code: string;
  readonly message: string;
}

/** Returns the code and the message of an error, without secrets. Of a foreign message it returns the first line. */
export function summarizeError(error: unknown): ErrorSummary {
  if (isLeaseholdError(error)) return { code: error.code, message: error.message };
  // Anything can be thrown, so it is only searched for text.
  const { name, message } = (error ?? {}) as { readonly name?: unknown; readonly message?: unknown };
  const words = [message, error].find((value) => typeof value === "string") ?? "something was thrown that is no error";
  return { code: typeof name === "string" ? name : "Error", message: redact(words) };
}
