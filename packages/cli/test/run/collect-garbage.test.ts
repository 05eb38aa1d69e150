import { expect, test } from "vitest";
import { collectGarbage } from "../../src/run/collect-garbage.ts";

test("collects an object that nothing refers to", async () => {
  const garbage = ((): WeakRef<object> => new WeakRef({}))();
  // A new object stays until the end of the present turn.
  await new Promise(setImmediate);
  expect(garbage.deref()).toBeDefined();
  await new Promise(setImmediate);
  collectGarbage();
  expect(garbage.deref()).toBeUndefined();
});
