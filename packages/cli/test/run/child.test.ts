import { expect, test } from "vitest";
import { Child } from "../../src/run/child.ts";

test("a command that the system refuses at once counts as ended", async () => {
  const child = new Child({ path: "no\0path", command: ["no"], env: {}, hasInput: true });
  expect(child.leader).toBeUndefined();
  expect(await child.exited).toEqual({ code: 126, failure: "it cannot be started (ERR_INVALID_ARG_VALUE)" });
});
