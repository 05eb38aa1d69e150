import { StoreError, UnsupportedError, type ListedElection } from "@leasehold/core";
import { beforeEach, expect, test, vi } from "vitest";
import { CapturedCommand } from "./captured-command.ts";

const LED = {
  election: "billing",
  state: "held",
  term: 4,
  holder: "one",
  ageMs: [1_000, 1_000],
  leaseDurationMs: 15_000,
} as const;
const FOREIGN = { election: "notes", state: "foreign", problem: "it is no\u001b[2J lease" } as const;
const VACANT = { election: "batch", state: "vacant", term: 2 } as const;

let command: CapturedCommand;
let elections: readonly ListedElection[];
beforeEach(() => {
  command = new CapturedCommand();
  elections = [LED, FOREIGN, VACANT];
  const list = async function* (prefix = ""): AsyncGenerator<ListedElection> {
    yield* await Promise.resolve(elections.filter(({ election }) => election.startsWith(prefix)));
  };
  Object.assign(command.store, { list });
});

test("list prints a table of all elections by name, also of foreign records", async () => {
  const { exitCode, stdout, stderr } = await command.run("list");
  expect(stdout).toBe(
    [
      "ELECTION  STATE    TERM  LEADER  AGE          NOTE",
      "batch     vacant   2",
      "billing   held     4     one     1 s of 15 s",
      "notes     foreign                             it is no\\u{1b}[2J lease",
      "",
    ].join("\n"),
  );
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
});

test("a foreign record has the colour of a warning", async () => {
  command.isTerminal = true;
  expect((await command.run("list", "notes")).stdout).toContain("\u001b[33mnotes");
});

test("list takes a prefix, and says if nothing has it", async () => {
  expect(JSON.parse((await command.run("list", "b", "--json")).stdout)).toEqual([VACANT, LED]);
  expect(await command.run("list", "z")).toMatchObject({
    exitCode: 0,
    stderr: "leasehold: there is no such election in this store.\n",
  });
});

test("status without a name shows all elections, and its exit code says whether each is led", async () => {
  expect(await command.run("status")).toMatchObject({ exitCode: 3, stdout: (await command.run("list")).stdout });
  elections = [LED, FOREIGN];
  expect(await command.run("status")).toMatchObject({ exitCode: 4 });
  elections = [LED];
  expect(await command.run("status")).toMatchObject({ exitCode: 0 });
});

test("status --wait reads an election again that a list cannot tell", async () => {
  elections = [{ ...LED, state: "unknown" }];
  await command.lead("billing", "two");
  expect(await command.run("status")).toMatchObject({ exitCode: 4 });
  expect(await command.run("status", "--wait", "5s")).toMatchObject({ exitCode: 0 });
  expect(command.stdout).toContain("two");
});

test("list --watch prints a line for each change, and nothing for an age", async () => {
  const running = command.start("list", "--watch");
  await command.untilLoaded();
  elections = [{ ...LED, ageMs: [6_000, 6_000] }, FOREIGN, VACANT];
  await command.clock.advance(5_000);
  elections = [{ ...LED, term: 5, holder: "two" }, VACANT];
  await command.clock.advance(5_000);
  command.stop.abort();
  const { stdout, exitCode } = await running;
  const lines = stdout.trim().split("\n");
  expect(lines.map((line) => line.replace(/^\S+Z {2}/, ""))).toEqual([
    "batch: vacant, term 2",
    "billing: held, term 4, one",
    "notes: foreign, it is no\\u{1b}[2J lease",
    "billing: held, term 5, two",
  ]);
  expect(exitCode).toBe(0);
});

test("a store that cannot list says so", async () => {
  vi.spyOn(command.store, "list").mockImplementation(() => {
    throw new UnsupportedError("memory cannot list its elections.");
  });
  expect(await command.run("list", "--json")).toMatchObject({
    exitCode: 78,
    stderr: "leasehold: memory cannot list its elections.\n",
  });
});

test("status of a store without elections says so, and is no success", async () => {
  expect(await new CapturedCommand().run("status")).toEqual({
    exitCode: 3,
    stdout: "",
    stderr: "leasehold: there is no such election in this store.\n",
  });
});

test("list --watch goes on after an outage of the store, and says so", async () => {
  const running = command.start("list", "--watch");
  await command.untilLoaded();
  const list = vi.spyOn(command.store, "list").mockImplementationOnce(() => {
    throw new StoreError("STORE_UNAVAILABLE", "no answer", {
      store: "memory",
      operation: "list",
      election: "",
      mayHaveBeenApplied: false,
    });
  });
  await command.clock.advance(5_000);
  elections = [VACANT];
  await command.clock.advance(5_000);
  command.stop.abort();
  const { stderr, exitCode } = await running;
  expect([stderr, exitCode, list.mock.calls.length]).toEqual(["leasehold: no answer\n", 0, 2]);
});

test("a stop while list --watch reads is a quiet end", async () => {
  const running = command.start("list", "--watch");
  await command.untilLoaded();
  vi.spyOn(command.store, "list").mockImplementationOnce(() => {
    command.stop.abort();
    throw new Error("The list was aborted.");
  });
  await command.clock.advance(5_000);
  expect(await running).toMatchObject({ exitCode: 0, stderr: "" });
});
