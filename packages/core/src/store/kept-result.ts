import { ConfigurationError } from "../reporting/errors.ts";
import { summarizeError } from "../reporting/redact.ts";
import { isNotRun, type Completion } from "./lease-snapshot.ts";
import type { OccurrenceStore } from "./lease-store.ts";
import { utf8Bytes } from "./names.ts";

/** Returns the completion that keeps a result. @throws {ConfigurationError} for one that JSON or the store cannot keep. */
export function completionOf(result: unknown, id: string, store: OccurrenceStore): Completion | undefined {
  return result === undefined ? undefined : checked({ result }, id, store);
}

/** As {@link completionOf}, for a value that may be no completion: `work().then(leadership.complete)` gives any value. */
export function completionIn(given: unknown, id: string, store: OccurrenceStore): Completion | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const { result, failure, skipped } = given as Completion;
  const isCompletion = failure === undefined ? isNotRun(skipped) : typeof failure === "string";
  return isCompletion ? checked({ result, failure, skipped }, id, store) : completionOf(result, id, store);
}

function checked(completion: Completion, id: string, { name, capabilities }: OccurrenceStore): Completion {
  const bytes = utf8Bytes(jsonOf(completion, id));
  const { maxValueBytes } = capabilities;
  if (bytes <= maxValueBytes) return completion;
  throw new ConfigurationError(
    `The result of '${id}' has ${bytes} bytes as JSON; ${name} keeps at most ${maxValueBytes}. Return a key by which the result can be found.`,
  );
}

function jsonOf(completion: Completion, id: string): string {
  const refuse = (what: string): never => {
    throw new ConfigurationError(
      `The result of '${id}' is not JSON: ${what}. Return text, finite numbers, booleans, null, arrays and plain objects.`,
    );
  };
  const check = function (this: unknown, key: string, seen: unknown): unknown {
    // `seen` is the result of a `toJSON`, so take the value itself.
    const value = (this as Readonly<Record<string, unknown>>)[key];
    if (!isJson(value) && (value !== undefined || Array.isArray(this))) refuse(`'${key}' is ${kindOf(value)}`);
    return seen;
  };
  try {
    return JSON.stringify(completion, check);
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    return refuse(summarizeError(error).message);
  }
}

function isJson(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null)
    return value === null || typeof value === "string" || typeof value === "boolean";
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  // A plain object may come from another realm. So test that its prototype has no prototype itself.
  return (prototype === null || Object.getPrototypeOf(prototype) === null) && !("toJSON" in value);
}

function kindOf(value: unknown): string {
  if (typeof value === "number" || value === undefined) return String(value);
  if (typeof value !== "object") return `a ${typeof value}`;
  return `of the class ${(value as { readonly constructor?: { readonly name?: string } }).constructor?.name ?? "?"}`;
}
