import { MemoryLeaseStore } from "@leasehold/core";
import { disposable } from "@leasehold/core/provider";
import { expect, test } from "vitest";

test("a store is disposed of once its end has come, however long that takes", async () => {
  let isOver = false;
  const end = async (): Promise<void> => {
    await new Promise(setImmediate);
    isOver = true;
  };
  await disposable(new MemoryLeaseStore(), end)[Symbol.asyncDispose]();
  expect(isOver).toBe(true);
});
