import { expect } from "vitest";

/** The error of a promise, which must reject. */
export async function failureOf(promise: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  return await promise.then(
    (result) => expect.fail(`It should have failed, and gave ${JSON.stringify(result)}.`),
    (reason: unknown) => reason as Error & Record<string, unknown>,
  );
}
