import { isoOf } from "@leasehold/core/provider";
import { win } from "@leasehold/test-kit/acquisitions";
import { expect, test, vi } from "vitest";
import { CapturedCommand } from "./captured-command.ts";

test("status shows who leads, the age of the lease, and what blocks candidates", async () => {
  const command = new CapturedCommand();
  await command.lead("billing", "worker-1", "http://one\u001b[2J");
  await command.lead("mail", "worker-2");
  await command.clock.advance(3_200);
  await command.store.break("mail", { reason: "it hangs" });
  const { stdout, stderr, exitCode } = await command.run("status", "billing", "mail");
  expect(stdout).toBe(
    [
      "ELECTION  STATE   TERM  LEADER    VALUE                AGE            NOTE",
      "billing   held    1     worker-1  http://one\\u{1b}[2J  3.2 s of 15 s",
      "mail      ending  1     worker-2                       3.2 s of 15 s  broken: it hangs",
      "",
    ].join("\n"),
  );
  expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
});

test("status --history shows the last terms, the latest first, with the reason of each end", async () => {
  const command = new CapturedCommand();
  await command.lead("billing", "worker-1");
  await command.clock.advance(15_000);
  await command.lead("billing", "worker\u202e2");
  const nowMs = command.clock.wallMs();
  const since = (ms: number): string => isoOf(nowMs + ms);
  const { stdout } = await command.run("status", "billing", "--history");
  expect(stdout.split("\n").slice(2)).toEqual([
    "ELECTION  TERM  LEADER           SINCE                     END",
    `billing   2     worker\\u{202e}2  ${since(0)}  leads`,
    `billing   1     worker-1         ${since(-15_000)}  expired`,
    "",
  ]);
  expect((await command.run("status", "billing")).stdout).not.toContain("expired");
});

test("status --history says it if the store keeps no terms of what was led", async () => {
  const command = new CapturedCommand();
  const saysSo = async (...args: readonly string[]): Promise<boolean> =>
    (await command.run("status", ...args)).stderr.includes("leasehold: memory keeps no past terms of the elections above.\n");
  const read = vi.spyOn(command.store, "read");
  read.mockResolvedValue({ election: "billing", state: "held", term: 1 });
  expect(await saysSo("billing", "--history")).toBe(true);
  expect(await saysSo("billing", "--history", "--json")).toBe(false);
  expect(await saysSo("billing")).toBe(false);
  read.mockResolvedValueOnce({ election: "mail", state: "held", term: 1, history: [{ term: 1, candidateId: "a", sinceMs: 0 }] });
  expect(await saysSo("mail", "billing", "--history")).toBe(false);
  read.mockResolvedValue({ election: "billing", state: "vacant", term: 0 });
  expect(await saysSo("billing", "--history")).toBe(false);
});

test("a long value does not widen the table, and JSON has all of it", async () => {
  const command = new CapturedCommand();
  const value = "v".repeat(5_000);
  await command.lead("billing", "worker-1", value);
  const { stdout } = await command.run("status", "billing");
  expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThan(140);
  expect(stdout).toContain(`${"v".repeat(59)}…`);
  expect(JSON.parse((await command.run("status", "billing", "--json")).stdout)).toMatchObject([{ value }]);
});

test("the exit code tells a script whether every election is led", async () => {
  const command = new CapturedCommand();
  await command.lead("led", "worker-1");
  await command.lead("dead", "worker-2");
  expect((await command.run("status", "led", "dead")).exitCode).toBe(0);
  await command.clock.advance(10_000);
  await command.store.break("led", { reason: "no", immediate: true });
  await command.lead("led", "worker-3");
  await command.clock.advance(10_000);
  expect((await command.run("status", "led", "dead")).exitCode).toBe(3);
  expect((await command.run("status", "led")).exitCode).toBe(0);
});

test("says if nobody has ever led an election, because the name may be mistyped", async () => {
  const ran = await new CapturedCommand().run("status", "biling");
  expect(ran).toMatchObject({
    exitCode: 3,
    stderr: "leasehold: nobody has ever led 'biling' in this store; is that its name?\n",
  });
  expect(ran.stdout).toContain("vacant  0");
});

test("the election comes from the environment or an option", async () => {
  const command = new CapturedCommand();
  await command.lead("billing", "worker-1");
  expect((await command.run("status", "--election", "billing")).exitCode).toBe(0);
  command.env["LEASEHOLD_ELECTION"] = "billing";
  expect((await command.run("status")).exitCode).toBe(0);
  expect((await command.run("status", "a\u0000b")).exitCode).toBe(78);
  expect((await command.run("status", "one", "--election", "other")).exitCode).toBe(64);
});

test("--json prints JSON, in milliseconds", async () => {
  const command = new CapturedCommand();
  await command.lead("billing", "worker-1");
  const sinceMs = command.clock.wallMs();
  await command.clock.advance(3_200);
  const { stdout } = await command.run("status", "billing", "mail", "--json");
  expect(JSON.parse(stdout)).toEqual([
    {
      election: "billing",
      state: "held",
      term: 1,
      holder: "worker-1",
      ageMs: [3_200, 3_200],
      leaseDurationMs: 15_000,
      bar: { kind: "lease" },
      history: [{ term: 1, candidateId: "worker-1", sinceMs }],
    },
    { election: "mail", state: "vacant", term: 0 },
  ]);
});

test("colours appear on a terminal only, and not with NO_COLOR", async () => {
  const command = new CapturedCommand();
  await command.lead("billing", "worker-1");
  const isColoured = async (): Promise<boolean> => (await command.run("status", "billing")).stdout.includes("\u001b[32mbilling");
  expect(await isColoured()).toBe(false);
  command.isTerminal = true;
  expect(await isColoured()).toBe(true);
  command.env["NO_COLOR"] = "1";
  expect(await isColoured()).toBe(false);
  command.env["NO_COLOR"] = "";
  command.env["TERM"] = "dumb";
  expect(await isColoured()).toBe(false);
});

test.for([
  ["held", 32],
  ["ending", 33],
  ["unknown", 33],
  ["expired", 31],
  ["vacant", 31],
] as const)("an election that is %s has the colour %i, and the head is dim", async ([state, colour]) => {
  const command = new CapturedCommand();
  command.isTerminal = true;
  vi.spyOn(command.store, "read").mockResolvedValue({ election: "billing", state, term: 1 });
  const { stdout } = await command.run("status", "billing");
  const [head = "", line = ""] = stdout.split("\n");
  expect(head.startsWith("\u001b[2mELECTION")).toBe(true);
  expect(line.startsWith(`\u001b[${colour}mbilling`)).toBe(true);
});

test("status reads once without --wait", async () => {
  const command = new CapturedCommand();
  await win(command.usesStoreWithoutClock(), { election: "billing", candidateId: "worker-1" });
  const read = vi.spyOn(command.store, "read");
  expect(await command.run("status", "billing")).toMatchObject({ exitCode: 4 });
  expect(read).toHaveBeenCalledOnce();
});

test("if one read cannot tell, --wait reads again until it can", async () => {
  const command = new CapturedCommand();
  await win(command.usesStoreWithoutClock(), { election: "billing", candidateId: "worker-1" });
  expect(await command.run("status", "billing")).toMatchObject({ exitCode: 4 });
  expect(command.stdout).toContain("unknown");
  expect(await command.run("status", "billing", "--wait", "5s")).toMatchObject({ exitCode: 4 });
  const begunMs = command.clock.monotonicMs();
  expect(await command.run("status", "billing", "--wait", "1m")).toMatchObject({ exitCode: 3 });
  expect(command.clock.monotonicMs() - begunMs).toBeLessThan(16_000);
});

test("a stop ends the wait with the last state", async () => {
  const command = new CapturedCommand();
  await win(command.usesStoreWithoutClock(), { election: "billing", candidateId: "worker-1" });
  const begunMs = command.clock.monotonicMs();
  command.clock.setTimer(() => command.stop.abort(), 3_000);
  expect(await command.run("status", "billing", "--wait", "1m")).toMatchObject({ exitCode: 4 });
  expect(command.clock.monotonicMs() - begunMs).toBe(3_000);
});

test("a failing store is exit code 69, with advice", async () => {
  const command = new CapturedCommand();
  command.failsWith("STORE_DENIED");
  expect(await command.run("status", "billing")).toMatchObject({
    exitCode: 69,
    stdout: "",
    stderr: expect.stringMatching(/^leasehold: STORE_DENIED of old\. See https:\S+\n$/) as string,
  });
});

test("shows which members of the store do not count, and since when", async () => {
  const command = new CapturedCommand();
  await command.lead("billing", "worker-1");
  const member = { store: "sql", forMs: 12_345, counts: true, waitsFor: undefined };
  const members = [
    { ...member, name: "a" },
    { ...member, name: "b" },
    { ...member, name: "c", counts: false, waitsFor: "it is empty." },
  ];
  Object.assign(command.store, { members: () => members });
  const { stderr, exitCode } = await command.run("status", "billing");
  expect(stderr).toContain("2 of 3 members of the store count. c has not counted for 12 s: it is empty.");
  expect(exitCode).toBe(0);
});
