import { Elector } from "@leasehold/core";
import { describe, expect, test, vi } from "vitest";
import { CapturedCommand } from "./captured-command.ts";

async function led(): Promise<CapturedCommand> {
  const command = new CapturedCommand();
  await command.lead("billing", "one");
  return command;
}

const ORDERS = [
  { verb: "break", args: ["--reason", "it hangs"], question: "Break it? [yes/no] " },
  {
    verb: "transfer",
    args: ["--to", "two"],
    question:
      "two is not among the last leaders of 'billing'; is that its name? Transfer it to two? If no candidate has that name, nobody leads for half a minute. [yes/no] ",
  },
] as const;

describe.for(ORDERS)("$verb", ({ verb, args, question }) => {
  test("shows the term that is about to end, and asks", async () => {
    const command = await led();
    command.answer = false;
    await command.clock.advance(2_000);
    const ran = await command.run(verb, "billing", ...args);
    expect(command.questions).toEqual([question]);
    expect(ran).toEqual({
      exitCode: 75,
      stdout: "",
      stderr: "billing: term 1, held, one, 2 s of 15 s\nleasehold: nothing was changed.\n",
    });
    expect(await command.store.read("billing")).toMatchObject({ state: "held" });
  });

  test("without a terminal it needs --yes, and opens no store", async () => {
    const command = await led();
    const ran = await command.run(verb, "billing", ...args);
    expect(ran).toMatchObject({
      exitCode: 64,
      stderr: "leasehold: there is no terminal to ask at; give --yes to do it without a question.\n",
    });
    expect(command.opened).toEqual([]);
  });

  test("does not end the term of a successor that came during the question", async () => {
    const command = await led();
    command.answer = true;
    command.whileAsking = async () => {
      await command.clock.advance(15_000);
      await command.lead("billing", "successor");
    };
    expect(await command.run(verb, "billing", ...args)).toMatchObject({ exitCode: 75 });
    expect(await command.store.read("billing")).toMatchObject({ state: "held", term: 2, holder: "successor" });
  });

  test("says that nobody has ever led, because the name may be mistyped", async () => {
    const ran = await (await led()).run(verb, "biling", "--yes", ...args);
    expect(ran).toMatchObject({
      exitCode: 3,
      stderr: "leasehold: nobody has ever led 'biling' in this store; is that its name?\n",
    });
  });

  test("fails if nobody leads", async () => {
    const command = new CapturedCommand();
    const lease = await command.lead("billing", "one");
    await command.store.release(lease, { timeoutMs: 1_000 });
    expect(await command.run(verb, "billing", "--yes", ...args)).toMatchObject({ exitCode: 3 });
    expect(command.stderr).toContain("nobody leads 'billing'");
  });
});

test("a pause is named in the error: it refuses a transfer, and a break does not lift it", async () => {
  const command = await led();
  await command.store.pause("billing", { reason: "restore" });
  const transfer = await command.run("transfer", "billing", "--force", "--to", "two");
  expect(transfer).toMatchObject({
    exitCode: 75,
    stderr: expect.stringContaining("'billing' is paused (\"restore\")") as string,
  });
  expect(await command.run("break", "billing", "--yes", "--reason", "now", "--immediate")).toMatchObject({ exitCode: 0 });
  const again = await command.run("break", "billing", "--yes", "--reason", "now");
  expect(again).toMatchObject({ exitCode: 75, stderr: expect.stringContaining("a break lifts no pause") as string });
});

test("break closes the term, and says when another candidate may lead", async () => {
  const command = await led();
  command.answer = true;
  const ran = await command.run("break", "billing", "--reason", "it hangs");
  expect(ran).toMatchObject({ exitCode: 0, stdout: "" });
  expect(ran.stderr).toContain("leasehold: term 1 is broken; anyone may lead once its lease has run out.\n");
  expect(await command.store.read("billing")).toMatchObject({ state: "ending", endingReason: "it hangs" });
  const { stdout } = await command.run("break", "billing", "--reason", "it hangs", "--immediate", "--json");
  expect(JSON.parse(stdout)).toEqual({ broken: true, term: 1 });
});

test("break also closes an expired term, and a transfer that its target does not take", async () => {
  const command = await led();
  await command.clock.advance(20_000);
  expect(await command.run("break", "billing", "--reason", "its writes go on", "--yes")).toMatchObject({ exitCode: 0 });
  expect(await command.store.read("billing")).toMatchObject({ endingReason: "its writes go on" });

  const lease = await command.lead("billing", "one");
  void command.store.transfer("billing", "two", {});
  await command.clock.advance(1_000);
  await command.store.release(lease, { timeoutMs: 1_000 });
  expect(await command.store.read("billing")).toMatchObject({ state: "vacant", bar: { kind: "transfer" } });
  expect(await command.run("break", "billing", "--reason", "two is gone", "--yes")).toMatchObject({ exitCode: 0 });
  expect(command.stderr).toContain("billing: term 2, vacant, ");
  expect(await command.store.read("billing")).not.toHaveProperty("bar");
});

test("break --immediate states its risk in the question", async () => {
  const command = await led();
  command.answer = true;
  await command.run("break", "billing", "--reason", "it hangs", "--immediate");
  expect(command.questions).toEqual(["Break it at once, although its leader may go on for a while? [yes/no] "]);
  expect(command.stderr).toContain("term 1 is broken; anyone may lead now.");
  expect(await command.store.read("billing")).toMatchObject({ state: "vacant" });
});

test("transfer waits until the candidate leads", async () => {
  const command = new CapturedCommand();
  const { store, clock } = command;
  const stop = new AbortController();
  const electors = ["one", "two"].map(
    (candidateId) => new Elector({ store, clock, election: "billing", candidateId, logger: false }),
  );
  const runs: Array<Promise<void>> = [];
  for (const elector of electors) {
    runs.push(
      elector.run(async ({ signal }) => {
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      }, stop),
    );
    await clock.advance(1_000);
  }
  const ran = await command.run("transfer", "billing", "--to", "two", "--force");
  expect(ran).toMatchObject({ exitCode: 0, stdout: "" });
  expect(ran.stderr).toMatch(/billing: term 1, held, one, .*\n.*waiting for it\.\nleasehold: two leads\.\n$/);
  expect(await store.read("billing")).toMatchObject({ holder: "two", term: 2 });
  stop.abort();
  await clock.runUntil(Promise.all(runs));
});

test("a transfer to an absent candidate expires, and one to the leader itself is refused", async () => {
  const command = await led();
  expect(await command.run("transfer", "billing", "--to", "one", "--yes")).toMatchObject({ exitCode: 64 });
  expect(command.stderr).toContain("'one' leads 'billing' already.");
  expect(await command.run("transfer", "billing", "--to", "nobody", "--force")).toMatchObject({ exitCode: 75 });
  expect(command.stderr).toContain("nobody did not take it in time; anyone may lead now.");
});

test("a transfer to a name that has led none of the last terms asks in spite of --yes, and needs --force without a terminal", async () => {
  const command = await led();
  const doubt = "two is not among the last leaders of 'billing'; is that its name?";
  expect(await command.run("transfer", "billing", "--to", "two", "--yes")).toMatchObject({ exitCode: 64 });
  expect(command.stderr).toContain(`leasehold: ${doubt} there is no terminal to ask at; give --force to do it`);
  command.answer = false;
  expect(await command.run("transfer", "billing", "--to", "two", "--yes")).toMatchObject({ exitCode: 75 });
  expect(command.questions).toEqual([expect.stringContaining(doubt)]);
  expect(await command.store.read("billing")).toMatchObject({ state: "held", term: 1 });

  await command.clock.advance(15_000);
  await command.lead("billing", "two");
  command.answer = undefined;
  expect(await command.run("transfer", "billing", "--to", "one", "--yes")).toMatchObject({ exitCode: 75 });
  expect(command.stderr).toContain("one did not take it in time");
});

test("a store that keeps no history knows no names, so --yes is enough", async () => {
  const command = await led();
  const { store } = command;
  const read = store.read.bind(store);
  vi.spyOn(store, "read").mockImplementation(async (...args) => {
    const { history: _, ...snapshot } = (await read(...args))!;
    return snapshot;
  });
  expect(await command.run("transfer", "billing", "--to", "two", "--yes")).toMatchObject({ exitCode: 75 });
  expect(command.stderr).toContain("two did not take it in time");
});

test("a stop ends the wait of transfer, which says that the transfer goes on", async () => {
  const command = await led();
  command.clock.setTimer(() => command.stop.abort(), 3_000);
  expect(await command.run("transfer", "billing", "--to", "two", "--force")).toMatchObject({ exitCode: 75 });
  expect(command.stderr).toContain("leasehold: no longer waiting; the transfer goes on without this command.\n");
  expect(await command.store.read("billing")).toMatchObject({ state: "ending" });
});
