import { MemoryLeaseStore } from "@leasehold/core";
import { QuorumLeaseStore } from "@leasehold/quorum";
import { expect, test } from "vitest";
import { CapturedCommand } from "./captured-command.ts";

test("heal makes an emptied member of a quorum count again, with the elections that are named", async () => {
  const command = new CapturedCommand();
  const { clock } = command;
  const [a, b, c] = [new MemoryLeaseStore({ clock }), new MemoryLeaseStore({ clock }), new MemoryLeaseStore({ clock })];
  const before = new QuorumLeaseStore({ members: { a, b, c }, clock, logger: false });
  const request = { candidateId: "worker-1", leaseDurationMs: 15_000, renewIntervalMs: 5_000, timeoutMs: 1_000 };
  await clock.runUntil(before.acquire({ election: "billing", ...request }));
  const members = { a, b, c: new MemoryLeaseStore({ clock }) };
  command.store = new QuorumLeaseStore({ members, clock, logger: false });

  expect(await command.run("status", "billing")).toMatchObject({
    stderr: expect.stringContaining("2 of 3 members of the store count. c has not counted for 0 s: it is empty"),
  });
  expect(await command.run("heal", "c", "billing")).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining("the member c is taken in, and has these elections.\n"),
  });
  expect(await command.run("status", "billing")).toMatchObject({ exitCode: 0, stderr: "" });
});

test("heal refuses a store that has no members", async () => {
  const ran = await new CapturedCommand().run("heal", "c");
  expect(ran).toMatchObject({ exitCode: 64, stderr: expect.stringContaining("the store memory is not made of members") });
});
