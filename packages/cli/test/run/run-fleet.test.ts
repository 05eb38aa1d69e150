/** `leasehold run --fleet` and its commands, in the process of the test. */
import { get } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Elector } from "@leasehold/core";
import { readFleet } from "@leasehold/fleet";
import { afterEach, beforeEach, expect, test } from "vitest";
import { serveElector } from "../../src/run/run-http.ts";
import { RunHere } from "./run-here.ts";

/** A script that writes its shard, and then waits for a signal. */
const WAITING = `trap 'echo ended > $0/$LEASEHOLD_SHARD.end; exit 3' TERM
echo "$LEASEHOLD_FLEET $LEASEHOLD_ELECTION $LEASEHOLD_TERM $LEASEHOLD_TERM_ID" > $0/$LEASEHOLD_SHARD
while :; do sleep 0.05; done`;
const OPTIONS = { candidateId: "one", leaseDurationMs: 12_000 };

let here: RunHere;
beforeEach(() => {
  here = new RunHere();
});
afterEach(() => here[Symbol.dispose]());

test("a command runs for each shard, until a second stop signal goes to all of them", { timeout: 120_000 }, async () => {
  const ended = here.runFleet({ fleet: "orders", shards: 2 }, WAITING, OPTIONS);
  const facts = [(await here.wrote("0")).trim().split(" "), (await here.wrote("1")).trim().split(" ")];
  expect(facts.map(([fleet, election]) => [fleet, election])).toEqual([
    ["orders", "fleet/orders/shard/0"],
    ["orders", "fleet/orders/shard/1"],
  ]);
  const { shards } = await readFleet(here.store, "orders");
  expect(shards.map(({ memberId, term }) => [memberId, String(term)])).toEqual(facts.map(([, , term]) => ["one", term]));
  // Each command has a termId of its own. By it the guard finds the processes of that command alone.
  expect(new Set(facts.map(([, , , termId]) => termId)).size).toBe(2);
  here.signal("SIGTERM");
  here.signal("SIGTERM");
  expect(await ended).toBe(143);
  expect([here.read("0.end"), here.read("1.end")]).toEqual(["ended\n", "ended\n"]);
  expect((await readFleet(here.store, "orders")).members).toEqual([]);
});

test("--http answers with the metrics of a fleet, which name no shard", { timeout: 120_000 }, async () => {
  const socket = join(here.folder, "metrics.sock");
  const serve = async (elector: Elector | undefined, stopped: AbortSignal): Promise<AsyncDisposable> =>
    await serveElector(elector, { address: `unix:${socket}`, stopped });
  const ended = here.runFleet({ fleet: "orders", shards: 2 }, WAITING, { ...OPTIONS, serve });
  await Promise.all([here.wrote("0"), here.wrote("1")]);
  const body = await bodyOf(socket, "/metrics");
  const lines = body.split("\n").filter((line) => line.startsWith("leasehold_fleet_"));
  expect(lines).toEqual(
    expect.arrayContaining([
      'leasehold_fleet_held{fleet="orders"} 2',
      'leasehold_fleet_shards{fleet="orders",state="held"} 2',
      'leasehold_fleet_members{fleet="orders"} 1',
      'leasehold_fleet_events_total{fleet="orders",event="shard_started"} 2',
    ]),
  );
  expect(lines.join()).not.toMatch(/shard=|member=/);
  here.signal("SIGTERM");
  here.signal("SIGTERM");
  expect(await ended).toBe(143);
});

async function bodyOf(socketPath: string, path: string): Promise<string> {
  return await new Promise((resolve, reject) => {
    get({ socketPath, path }, (response) => void text(response).then(resolve, reject)).on("error", reject);
  });
}

test("a command that fails lets its shard rest, and no other command ends", { timeout: 120_000 }, async () => {
  const script = `[ "$LEASEHOLD_SHARD" = 0 ] && { echo x >> $0/tries; exit 3; }; ${WAITING}`;
  const ended = here.runFleet({ fleet: "orders", shards: 2 }, script, OPTIONS);
  await here.told(/the command ended with exit code 3/);
  await here.wrote("1");
  while (here.read("tries").length < 4) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(here.read("1.end")).toBe("");
  expect((await readFleet(here.store, "orders")).shards[1]).toMatchObject({ state: "held", memberId: "one" });
  here.signal("SIGTERM");
  here.signal("SIGTERM");
  expect(await ended).toBe(143);
});

test("the end of the terminal stops a member that runs no command", { timeout: 120_000 }, async () => {
  const ended = here.runFleet({ fleet: "orders", shards: 1 }, WAITING, OPTIONS);
  here.signal("SIGHUP");
  expect(await ended).toBe(129);
  expect(here.read("0")).toBe("");
});
