import { expect, test } from "vitest";
import { allEnded } from "./all-ended.ts";

test("a failure is thrown once nothing goes on beside it", async () => {
  const slow = Promise.withResolvers<string>();
  let over = false;
  const waiting = allEnded([slow.promise, Promise.reject(new Error("first")), Promise.reject(new Error("second"))]);
  const failure = waiting.catch((error: unknown) => error).finally(() => (over = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(over).toBe(false);
  slow.resolve("at last");
  await expect(failure).resolves.toMatchObject({ message: "first" });
});

test("without one, what each came to is returned in their order", async () => {
  const slow = Promise.withResolvers<string>();
  const waiting = allEnded([slow.promise, Promise.resolve("second")]);
  slow.resolve("first");
  await expect(waiting).resolves.toEqual(["first", "second"]);
});
