import { UnsupportedError } from "@leasehold/core";
import { occurrencesOf } from "@leasehold/core/occurrences";
import { beforeEach, expect, test } from "vitest";
import { CapturedCommand } from "./captured-command.ts";

const REQUEST = { leaseDurationMs: 15_000, renewIntervalMs: 5_000, timeoutMs: 1_000 };

const KEYS = ["done", "failed", "kept", "skipped", "open", "running"];

let command: CapturedCommand;
beforeEach(async () => {
  command = new CapturedCommand();
  const occurrences = occurrencesOf(command.store, "billing", 86_400_000, "this test");
  const claim = async (key: string): Promise<void> => {
    const outcome = await occurrences.acquire({ election: `billing@${key}`, candidateId: "host-1", ...REQUEST });
    if (!outcome.acquired) throw new Error(`'${key}' is not free.`);
    if (key === "done") await occurrences.complete(outcome.lease, REQUEST);
    if (key === "open") await occurrences.release(outcome.lease, REQUEST);
    if (key === "failed") await occurrences.complete(outcome.lease, { ...REQUEST, completion: { failure: "TypeError" } });
    if (key === "skipped") await occurrences.complete(outcome.lease, { ...REQUEST, completion: { skipped: "overlap" } });
    if (key === "kept") await occurrences.complete(outcome.lease, { ...REQUEST, completion: { result: [7] } });
  };
  for (const key of KEYS) await claim(key);
  Object.assign(command.store, { occurrences: () => occurrences });
});

test.for([
  ["done", { state: "done" }],
  ["kept", { state: "done", result: [7] }],
  ["failed", { state: "failed", failure: "TypeError" }],
  ["skipped", { state: "skipped", skipped: "overlap" }],
  ["open", { state: "open" }],
  ["running", { state: "running" }],
] as const)("an occurrence that is %s is shown as %o", async ([key, shown]) => {
  const { exitCode, stdout } = await command.run("occurrences", "billing", key, "--json");
  expect(JSON.parse(stdout)).toEqual([expect.objectContaining({ key, attempt: 1, ...shown })]);
  expect(exitCode).toBe(0);
});

test("an occurrence that no host has begun is exit code 3", async () => {
  expect(await command.run("occurrences", "billing", "never")).toMatchObject({
    exitCode: 3,
    stderr: "leasehold: no host has begun the occurrence 'never' of 'billing', or it is no longer kept.\n",
  });
});

test.for(["done", "failed"])(
  "one that is %s is open again after --reopen, with the reason and the user, and a host runs it",
  async (key) => {
    command.env["USER"] = "ada";
    const reopened = await command.run("occurrences", "billing", key, "--reopen", "no mail", "--yes", "--json");
    expect(reopened).toMatchObject({ exitCode: 0, stdout: `${JSON.stringify({ key })}\n` });
    const shown = { key, state: "open", attempt: 1, reason: "no mail (ada)" };
    expect(JSON.parse((await command.run("occurrences", "billing", key, "--json")).stdout)).toMatchObject([shown]);

    await command.clock.advance(2_000);
    const occurrences = occurrencesOf(command.store, "billing", 86_400_000, "this test");
    const request = { election: `billing@${key}`, candidateId: "host-2", ...REQUEST };
    expect(await occurrences.acquire(request)).toMatchObject({ acquired: true, lease: { term: 2 } });
    expect(await occurrences.read(`billing@${key}`)).not.toHaveProperty("endingReason");
  },
);

test.for([
  [["open", "--yes"], 75, "'billing@open' is not done: there is nothing to reopen."],
  [["running", "--yes"], 75, "'billing@running' is not done: there is nothing to reopen."],
  [["never", "--yes"], 3, "no host has begun the occurrence 'never'"],
  [["--yes"], 64, "--reopen needs the key of one occurrence."],
  [["done"], 64, "there is no terminal to ask at; give --yes"],
] as const)("--reopen of %j is refused", async ([args, exitCode, why]) => {
  const refused = await command.run("occurrences", "billing", ...args, "--reopen", "no mail");
  expect(refused).toMatchObject({ exitCode, stderr: expect.stringContaining(why) });
});

test("--reopen of an occurrence of a paused schedule is refused until it is resumed", async () => {
  await command.store.pause("billing", { reason: "failed", timeoutMs: 1_000 });
  const reopen = () => command.run("occurrences", "billing", "failed", "--reopen", "no mail", "--yes");
  expect(await reopen()).toMatchObject({
    exitCode: 75,
    stderr: "leasehold: 'billing' is paused; resume it first: leasehold resume 'billing'.\n",
  });
  await command.store.resume("billing");
  expect(await reopen()).toMatchObject({ exitCode: 0 });
});

test("a store that cannot list occurrences says how to see one", async () => {
  const occurrences = occurrencesOf(command.store, "billing", 86_400_000, "this test");
  const list = (): never => {
    throw new UnsupportedError("memory cannot list its elections.");
  };
  Object.assign(occurrences, { list });
  expect(await command.run("occurrences", "billing")).toMatchObject({
    exitCode: 78,
    stderr: "leasehold: memory cannot list the occurrences of 'billing'; name one: occurrences 'billing' KEY.\n",
  });
});

test("without a key it prints a table of what the store lists", async () => {
  const occurrences = occurrencesOf(command.store, "billing", 86_400_000, "this test");
  const list = async function* (): AsyncGenerator {
    for (const key of KEYS) yield await occurrences.read(`billing@${key}`);
  };
  Object.assign(occurrences, { list });
  expect((await command.run("occurrences", "billing")).stdout).toBe(
    [
      "KEY      STATE    ATTEMPT  HOST    AGE           NOTE",
      "done     done     1",
      "failed   failed   1                              TypeError",
      "kept     done     1",
      "open     open     1",
      "running  running  1        host-1  0 ms of 15 s",
      "skipped  skipped  1                              overlap",
      "",
    ].join("\n"),
  );
});
