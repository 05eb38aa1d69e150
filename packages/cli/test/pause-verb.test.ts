import { StoreError } from "@leasehold/core";
import { beforeEach, expect, test, vi } from "vitest";
import { CapturedCommand } from "./captured-command.ts";

const REQUEST = { leaseDurationMs: 15_000, renewIntervalMs: 5_000, timeoutMs: 1_000 };

let command: CapturedCommand;
beforeEach(async () => {
  command = new CapturedCommand();
  await command.store.acquire({ election: "billing", candidateId: "one", ...REQUEST });
});

test("pause records the reason and the user, and the leader goes on", async () => {
  command.env["USER"] = "ann";
  const { stderr, ...ran } = await command.run("pause", "billing", "--reason", "restore", "--json");
  expect(ran).toMatchObject({ exitCode: 0 });
  expect(JSON.parse(ran.stdout)).toEqual({
    election: "billing",
    isNew: true,
    reason: "restore (ann)",
    sinceMs: expect.any(Number) as number,
  });
  expect(stderr).toBe(
    "billing: term 1, held, one, 0 ms of 15 s\nleasehold: 'billing' is paused; one goes on with term 1, and nobody may follow.\n",
  );
  expect(await command.store.read("billing")).toMatchObject({ state: "held", holder: "one" });
  await command.clock.advance(20_000);
  const { acquired } = await command.store.acquire({ election: "billing", candidateId: "two", ...REQUEST });
  expect(acquired).toBe(false);
});

test("a second pause changes nothing, and names the first one", async () => {
  await command.run("pause", "billing", "--reason", "restore");
  const { exitCode, stderr } = await command.run("pause", "billing", "--reason", "other");
  expect(exitCode).toBe(75);
  expect(stderr).toMatch(/leasehold: 'billing' is paused already: restore, since \S+Z\.\n$/);
});

test("pause --now asks, and then also ends the present term", async () => {
  command.answer = true;
  const { exitCode, stderr } = await command.run("pause", "billing", "--reason", "restore", "--now");
  expect(command.questions).toEqual(["Pause it, and end term 1? [yes/no] "]);
  expect(stderr).toContain("'billing' is paused; term 1 is broken, and its leader drains for the rest of its lease.");
  expect(exitCode).toBe(0);
  expect(await command.store.read("billing")).toMatchObject({ state: "ending" });
});

test("pause --now without a terminal needs --yes, and opens no store", async () => {
  expect(await command.run("pause", "billing", "--reason", "restore", "--now")).toMatchObject({ exitCode: 64 });
  expect(command.opened).toEqual([]);
});

test("pause of a name that nobody has ever led asks, because it may be mistyped", async () => {
  expect(await command.run("pause", "biling", "--reason", "restore")).toMatchObject({ exitCode: 64 });
  command.answer = false;
  expect(await command.run("pause", "biling", "--reason", "restore")).toMatchObject({ exitCode: 75 });
  expect(command.questions).toEqual(["Nobody has ever led 'biling' in this store. Pause it all the same? [yes/no] "]);
  expect(await command.store.read("biling")).toBeUndefined();
  expect(await command.run("pause", "biling", "--reason", "restore", "--yes")).toMatchObject({ exitCode: 0 });
});

test("resume lifts a pause without a question, and says if there is none", async () => {
  expect(await command.run("resume", "billing")).toMatchObject({
    exitCode: 75,
    stderr: "leasehold: 'billing' is not paused: nothing was changed.\n",
  });
  await command.store.pause("billing", { reason: "restore" });
  expect(await command.run("resume", "billing")).toMatchObject({ exitCode: 0, stdout: "" });
  expect(await command.store.read("billing")).not.toMatchObject({ bar: { kind: "pause" } });
});

test("a term that cannot be ended leaves the pause, and the error is the store's", async () => {
  const details = { store: "memory", operation: "break", mayHaveBeenApplied: true };
  vi.spyOn(command.store, "break").mockRejectedValue(new StoreError("STORE_TIMEOUT", "No answer.", details));
  expect(await command.run("pause", "billing", "--reason", "restore", "--now", "--yes")).toMatchObject({ exitCode: 69 });
  expect(await command.store.resume("billing")).toEqual({ resumed: true });
});

test("pause --now names the successor that leads by then, and fails", async () => {
  const pause = command.store.pause.bind(command.store);
  vi.spyOn(command.store, "pause").mockImplementation(async (...args) => {
    await command.clock.advance(20_000);
    await command.store.acquire({ election: "billing", candidateId: "two", ...REQUEST });
    return await pause(...args);
  });
  const { exitCode, stderr } = await command.run("pause", "billing", "--reason", "restore", "--now", "--yes");
  expect(stderr).toContain("'billing' is paused, but 'two' leads it with term 2 and goes on. Repeat pause --now.");
  expect(exitCode).toBe(75);
});
