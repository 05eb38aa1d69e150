import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryLeaseStore, StoreError } from "@leasehold/core";
import type { StoreUrlContext } from "@leasehold/core/provider";
import { expect, onTestFinished, test, vi } from "vitest";
import { fromUrl } from "../src/from-url.ts";

test("a member that cannot be opened is an error, and the members that are open are closed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-quorum-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "members.json");
  await writeFile(file, JSON.stringify({ a: "a://", b: "b://", c: "c://" }));
  const failure = new StoreError("STORE_UNAVAILABLE", "no.", { store: "b", operation: "open", mayHaveBeenApplied: false });
  const disposed = vi.fn<() => Promise<void>>();
  const openStore = vi.fn<StoreUrlContext["openStore"]>();
  openStore.mockResolvedValueOnce(Object.assign(new MemoryLeaseStore(), { [Symbol.asyncDispose]: disposed }));
  openStore.mockRejectedValueOnce(failure);
  const rest = { text: "", scheme: "quorum", user: undefined, password: undefined, authority: "", parameters: new Map() };
  const context = { env: {}, openStore, readFile: () => Promise.resolve(undefined) };
  await expect(fromUrl["quorum"]!.open({ ...rest, path: file.slice(1), file }, context)).rejects.toBe(failure);
  expect(disposed).toHaveBeenCalledOnce();
  expect(openStore.mock.calls).toEqual([["a://"], ["b://"]]);
});
