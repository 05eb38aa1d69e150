import { expect } from "vitest";

/** Returns the error of a promise. Fails the test if it does not reject. */
export async function failureOf(promise: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  return await promise.then(
    (result) => expect.fail(`It should have failed, and gave ${JSON.stringify(result)}.`),
    (reason: unknown) => reason as Error & Record<string, unknown>,
  );
}
