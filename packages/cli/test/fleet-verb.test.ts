import { Fleet, type FleetStatus } from "@leasehold/fleet";
import { beforeEach, expect, test, vi } from "vitest";
import { CapturedCommand } from "./captured-command.ts";

let command: CapturedCommand;
beforeEach(() => {
  command = new CapturedCommand();
});

/** Starts a member whose tasks wait for their signals. */
function member(memberId: string, maxShards?: number): Fleet {
  const fleet = new Fleet({ store: command.store, fleet: "orders", shards: 3, maxShards, memberId, logger: false });
  void fleet.run(({ signal }) => new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve())));
  return fleet;
}

test("status prints the members and the shards, and ends with 3 while a shard has no holder", async () => {
  const one = member("host-1");
  await command.clock.advance(20_000);
  const { exitCode, stdout, stderr } = await command.run("fleet", "status", "orders");
  expect(stdout).toMatch(
    /^orders: revision \d+, coordinator host-1, not fenced\nMEMBER  STATE  SHARDS  AGE .*\nhost-1  held   3       .*  fleet\/orders\/member\/\d\nSHARD  STATE  TERM +MEMBER\n0      held   \d+  host-1\n1 .*\n2 .*\n$/,
  );
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  const json = await command.run("fleet", "status", "orders", "--json");
  expect(JSON.parse(json.stdout)).toMatchObject({ fleet: "orders", coordinator: "host-1", members: [{ memberId: "host-1" }] });
  void one.stop();
  await command.clock.advance(60_000);
  expect(await command.run("fleet", "status", "orders")).toMatchObject({ exitCode: 3 });
});

test.for([
  ["has expired", "expired", 3, "lost"],
  ["was ended", "ending", 3, "lost"],
  ["is unknown", "unknown", 4, "unknown"],
] as const)(
  "status tells that a shard has no holder known if the session of its member %s",
  async ([, state, exitCode, shown]) => {
    member("host-1");
    await command.clock.advance(20_000);
    const list = command.store.list.bind(command.store);
    vi.spyOn(command.store, "list").mockImplementation(async function* (...limits) {
      for await (const one of list(...limits)) yield one.state === "held" ? { ...one, state } : one;
    });
    const ran = await command.run("fleet", "status", "orders");
    expect(ran).toMatchObject({ exitCode, stdout: expect.stringMatching(new RegExp(`\\n0 +${shown} `)) as string });
  },
);

test("release asks, and moves one shard to another member", async () => {
  const members = [member("host-1"), member("host-2")];
  await command.clock.advance(60_000);
  const holder = members.find(({ shards }) => shards.some(({ name }) => name === "1"))!;
  command.answer = true;
  const ran = await command.run("fleet", "release", "orders", "1", "--json");
  expect(ran).toMatchObject({ exitCode: 0, stderr: expect.stringMatching(/^1: term \d+, held, host-\d\n/) as string });
  expect(JSON.parse(ran.stdout)).toMatchObject({ shard: "1" });
  expect(command.questions).toEqual(["Release it? [yes/no] "]);
  await command.clock.advance(30_000);
  const next = members.find(({ shards }) => shards.some(({ name }) => name === "1"));
  expect(next).toBeDefined();
  expect(next).not.toBe(holder);
});

test("release refuses a shard that no member holds", async () => {
  member("host-1", 2);
  await command.clock.advance(20_000);
  const { shards } = JSON.parse((await command.run("fleet", "status", "orders", "--json")).stdout) as FleetStatus;
  const { name = "" } = shards.find(({ term }) => term === undefined) ?? {};
  const stderr = expect.stringContaining(`no member holds the shard '${name}' of 'orders'.`) as string;
  expect(await command.run("fleet", "release", "orders", name, "--yes")).toMatchObject({ exitCode: 3, stderr });
});

test("evict ends the session of the member that is named, and of no other", async () => {
  const one = member("host-1");
  const two = member("host-2");
  await command.clock.advance(60_000);
  const left: string[] = [];
  for (const each of [one, two]) each.on("left", () => left.push(each.memberId));
  expect(await command.run("fleet", "evict", "orders", "host-2", "--yes")).toMatchObject({ exitCode: 0 });
  await command.clock.advance(60_000);
  expect(left).toEqual(["host-2"]);
});

test("evict refuses a label that two members share, and names their sessions", async () => {
  member("host-1");
  member("host-1");
  await command.clock.advance(20_000);
  const ran = await command.run("fleet", "evict", "orders", "host-1", "--yes");
  expect(ran).toMatchObject({ exitCode: 64, stderr: expect.stringMatching(/2 members are called 'host-1'; name one/) as string });
  const [, session = ""] = /(fleet\/orders\/member\/\d+) or/.exec(ran.stderr) ?? [];
  expect(await command.run("fleet", "evict", "orders", session, "--yes")).toMatchObject({ exitCode: 0 });
});

test("reset makes a new plan after a lease", async () => {
  const one = member("host-1");
  await command.clock.advance(20_000);
  const ran = await command.run("fleet", "reset", "orders", "--yes", "--json");
  expect(ran.exitCode).toBe(0);
  expect(JSON.parse(ran.stdout)).toEqual({ revision: expect.any(Number) as number });
  await command.clock.advance(60_000);
  expect(one.shards).toHaveLength(3);
});

test("reset refuses a store that cannot be read, before it asks or writes, and not a plan that is damaged", async () => {
  member("host-1");
  await command.clock.advance(20_000);
  command.answer = true;
  const works = command.failsWith("STORE_DENIED");
  const refused = await command.run("fleet", "reset", "orders");
  expect(refused).toMatchObject({ exitCode: 69, stderr: expect.stringContaining("STORE_DENIED of old") as string });
  expect(command.questions).toEqual([]);
  works();
  await command.lead("fleet/damaged/plan", "host-1", "{}");
  const ran = await command.run("fleet", "reset", "damaged");
  expect(ran).toMatchObject({
    exitCode: 0,
    stderr: expect.stringMatching(/^damaged: The plan cannot be read: it is damaged/) as string,
  });
});

test("a reset that is interrupted says that nothing is granted, and so does status, by exit code 3", async () => {
  const one = member("host-1");
  await command.clock.advance(20_000);
  one.on("left", () => command.stop.abort());
  const ran = await command.run("fleet", "reset", "orders", "--yes");
  expect(ran).toMatchObject({ exitCode: 75, stderr: expect.stringContaining("until you run reset again") as string });
  await command.clock.advance(60_000);
  const status = await command.run("fleet", "status", "orders");
  expect(status).toMatchObject({ exitCode: 3, stdout: expect.stringContaining("a reset is not over") as string });
});

test.for([
  [["status"], 64, "missing required argument 'fleet'"],
  [["state", "orders"], 64, "Allowed choices are status, release, evict, reset"],
  [["release", "orders"], 64, "an argument is missing: fleet release FLEET SHARD"],
  [["reset", "orders", "17"], 64, "'17' is one argument too many: fleet reset FLEET"],
  [["evict", "orders", "host-1"], 64, "give --yes"],
  [["status", "a/b"], 78, "has a slash"],
  [["status", "order"], 3, "the fleet 'order' has had no member in this store; is that its name?"],
  [["reset", "order", "--yes"], 78, "no record of a fleet 'order'; is that its name?"],
  [["release", "orders", "9", "--yes"], 3, "the fleet 'orders' has no shard '9'"],
  [["evict", "orders", "host-9", "--yes"], 3, "the fleet 'orders' has no member 'host-9'"],
] as Array<[string[], number, string]>)("fleet %o ends with %i", async ([args, exitCode, message]) => {
  member("host-1");
  await command.clock.advance(20_000);
  expect(await command.run("fleet", ...args)).toMatchObject({ exitCode, stderr: expect.stringContaining(message) as string });
});

test.for([
  [["--fleet", "orders"], "--fleet needs --shards COUNT or --at-most COUNT"],
  [["--shards", "4", "--election", "e"], "--shards needs --fleet NAME"],
  [["--max-shards", "4", "--election", "e"], "--max-shards needs --fleet NAME"],
  [["--fleet", "orders", "--shards", "four"], "It must be a whole number, such as 64"],
  [["--fleet", "orders", "--at-most", "3", "--shards", "4"], "cannot be used with option '--shards"],
  [["--fleet", "orders", "--shards", "4", "--restart", "always"], "cannot be used with option '--restart"],
  [["--fleet", "orders", "--shards", "4", "--lost-exit-code", "7"], "cannot be used with option '--lost-exit-code"],
  [["--fleet", "orders", "--shards", "4", "--conflict-exit-code", "7"], "cannot be used with option '--conflict-exit-code"],
  [["--fleet", "orders", "--shards", "4", "--priority", "1.5"], "It must be a whole number, such as 2 or -1"],
] as Array<[string[], string]>)("run %o is refused before a store is opened", async ([args, message]) => {
  const ran = await command.run("run", ...args, "--", "true");
  expect(ran).toMatchObject({ exitCode: 64, stderr: expect.stringContaining(message) as string });
  expect(command.opened).toEqual([]);
});
