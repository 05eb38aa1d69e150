import { TermRegressedError } from "@leasehold/core/provider";
import { expect, test, vi } from "vitest";
import { CapturedCommand } from "./captured-command.ts";

/** Returns a command on a store in which the last leader of `billing` has released term 1. */
async function released(): Promise<CapturedCommand> {
  const command = new CapturedCommand();
  await command.store.release(await command.lead("billing", "one"), { timeoutMs: 1_000 });
  return command;
}

test("repair shows the record, proposes a term, asks, and writes it", async () => {
  const command = await released();
  command.answer = true;
  const { exitCode, stdout, stderr } = await command.run("repair", "billing", "--json");
  expect(stderr).toBe(
    [
      "billing: term 1, vacant, 0 ms of 15 s",
      "billing: the next term is to be 1001 or more",
      "leasehold: 'billing' is repaired: its next term is 1001 or more, and nobody may lead for 15 s.",
      "",
    ].join("\n"),
  );
  expect(command.questions).toEqual(["Write a new record, which nobody holds? [yes/no] "]);
  expect(JSON.parse(stdout)).toEqual({ election: "billing", minTerm: 1_001, holdMs: 15_000 });
  expect(exitCode).toBe(0);
  await command.clock.advance(15_000);
  expect(await command.lead("billing", "two")).toMatchObject({ term: 1_001 });
});

test("a no changes nothing, and without a terminal repair needs --yes", async () => {
  const command = await released();
  expect(await command.run("repair", "billing")).toMatchObject({ exitCode: 64 });
  expect(command.opened).toEqual([]);
  command.answer = false;
  expect(await command.run("repair", "billing")).toMatchObject({ exitCode: 75 });
  expect(await command.store.read("billing")).toMatchObject({ term: 1 });
});

test("without any known term --min-term must be given", async () => {
  const command = new CapturedCommand();
  const { exitCode, stderr } = await command.run("repair", "billing", "--yes");
  expect(exitCode).toBe(64);
  expect(stderr).toContain(
    "billing: no record, and no fence\nleasehold: nothing tells which terms 'billing' has had; give --min-term",
  );
  const ran = await command.run("repair", "billing", "--yes", "--min-term", "500", "--lease", "30s");
  expect(ran.stderr).toContain("its next term is 500 or more, and nobody may lead for 30 s.");
});

test("shows the fence's term if the record is gone", async () => {
  const command = await released();
  vi.spyOn(command.store, "read").mockResolvedValue({ election: "billing", state: "vacant", term: 7, ageUnknown: true });
  const { stderr } = await command.run("repair", "billing", "--yes");
  expect(stderr).toContain("billing: no record; its fence shows term 7\nbilling: the next term is to be 1007 or more\n");
});

test("a fence that is ahead of the record raises the proposal, and a term that was given is not raised", async () => {
  const command = await released();
  const repair = vi.spyOn(command.store, "repair").mockRejectedValueOnce(new TermRegressedError("billing", 1_001, 4_000));
  expect(await command.run("repair", "billing", "--yes")).toMatchObject({ exitCode: 0 });
  expect(command.stderr).toContain("its next term is 5000 or more");
  repair.mockRejectedValueOnce(new TermRegressedError("billing", 6_000, 9_000));
  expect(await command.run("repair", "billing", "--yes", "--min-term", "6000")).toMatchObject({ exitCode: 69 });
});

test("refuses a record that is held", async () => {
  const command = new CapturedCommand();
  await command.lead("billing", "one");
  const repair = vi.spyOn(command.store, "repair");
  const { exitCode, stderr } = await command.run("repair", "billing", "--yes");
  expect(exitCode).toBe(75);
  expect(stderr).toContain("one holds 'billing', as far as one read can tell");
  expect(repair).not.toHaveBeenCalled();
});
