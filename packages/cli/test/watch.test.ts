import { ConfigurationError } from "@leasehold/core";
import { win } from "@leasehold/test-kit/acquisitions";
import { expect, test, vi } from "vitest";
import { CapturedCommand } from "./captured-command.ts";

/** Makes one candidate lead and release, and another one lead and die. */
async function twoTerms(command: CapturedCommand): Promise<void> {
  const { clock, store, stop } = command;
  const first = await command.lead("billing", "one", "http://one");
  await clock.advance(1_000);
  await store.release(first, { timeoutMs: 1_000 });
  await clock.advance(1_000);
  await command.lead("billing", "two");
  await clock.advance(20_000);
  stop.abort();
}

test("watch prints a line for each change, until a stop", async () => {
  const command = new CapturedCommand();
  const watching = command.start("watch", "billing");
  await command.untilLoaded();
  await twoTerms(command);
  const { exitCode, stdout, stderr } = await watching;
  const lines = stdout.trim().split("\n");
  expect(lines.map((line) => line.replace(/^\S+Z {2}/, ""))).toEqual([
    "nobody leads",
    "one leads, term 1, value http://one",
    "nobody leads",
    "two leads, term 2",
    "nobody leads",
  ]);
  const hint = "leasehold: nobody has ever led 'billing' in this store; is that its name?\n";
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: hint });
});

test("watch of several elections names the election in each line", async () => {
  const command = new CapturedCommand();
  const watching = command.start("watch", "billing", "mail");
  await command.untilLoaded();
  await twoTerms(command);
  const { exitCode, stdout } = await watching;
  expect(stdout).toMatch(/Z {2}mail: nobody leads\n/);
  expect(stdout).toMatch(/Z {2}billing: two leads, term 2\n/);
  expect(exitCode).toBe(0);
});

test("watch of several elections ends once one of them can no longer be watched", async () => {
  const command = new CapturedCommand();
  const watching = command.start("watch", "billing", "mail");
  await command.untilLoaded();
  const read = command.store.read.bind(command.store);
  vi.spyOn(command.store, "read").mockImplementation(async (election, options) => {
    if (election === "mail") throw new ConfigurationError("the store cannot hold 'mail'.");
    return await read(election, options);
  });
  await command.clock.advance(10_000);
  expect(await watching).toMatchObject({
    exitCode: 78,
    stderr: expect.stringContaining("leasehold: the store cannot hold 'mail'.\n") as string,
  });
});

test("--json prints one object per line", async () => {
  const command = new CapturedCommand();
  const watching = command.start("watch", "billing", "--json");
  await command.untilLoaded();
  await twoTerms(command);
  const lines = (await watching).stdout.trim().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as { leader: unknown }).leader)).toEqual([
    null,
    { candidateId: "one", term: 1, value: "http://one", state: "held" },
    null,
    { candidateId: "two", term: 2, state: "held" },
    null,
  ]);
});

test("watch prints an outage once to stderr, and goes on after it", async () => {
  const command = new CapturedCommand();
  const answers = command.failsWith("STORE_UNAVAILABLE");
  const watching = command.start("watch", "billing");
  await command.untilLoaded();
  await command.clock.advance(5_000);
  answers();
  await twoTerms(command);
  const { stdout, stderr } = await watching;
  expect(stderr).toMatch(/^leasehold: STORE_UNAVAILABLE of old\..*\n/);
  expect(stdout).toContain("one leads, term 1");
});

test.each(["STORE_DENIED", "STORE_MISSING", "STORE_UNAUTHENTICATED", "STORE_REJECTED"] as const)(
  "a store that refuses from the first, by %s, ends it",
  async (code) => {
    const command = new CapturedCommand();
    command.failsWith(code);
    const { stderr, ...ended } = await command.run("watch", "billing");
    expect(ended).toEqual({ exitCode: 69, stdout: "" });
    expect(stderr).toMatch(new RegExp(`^leasehold: ${code} of old\\. See https://\\S+#${code.toLowerCase()}\\n$`));
  },
);

test("shows that a leader is ending, and that it is unknown whether a dead one leads", async () => {
  const command = new CapturedCommand();
  const leads = command.usesStoreWithoutClock();
  await win(leads, { election: "billing", candidateId: "one" });
  const watching = command.start("watch", "billing");
  await command.untilLoaded();
  // The observer has read this renewal.
  await leads.break("billing", { reason: "it hangs", immediate: true });
  await win(leads, { election: "billing", candidateId: "two" });
  await command.clock.advance(3_000);
  await leads.break("billing", { reason: "it hangs" });
  await command.clock.advance(3_000);
  command.stop.abort();
  const { stdout } = await watching;
  expect(stdout).toContain("one has led last, and may lead, term 1\n");
  expect(stdout).toContain("two leads, term 2\n");
  expect(stdout).toContain("two is ending, term 2\n");
});
