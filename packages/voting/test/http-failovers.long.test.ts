/**
 * Failovers of servers that vote over real HTTP, with delayed connections and slow disks. `LEASEHOLD_FAILOVERS=200` plays so many
 * of each situation, and prints how long they took; `LEASEHOLD_FAILOVERS_SEED` is the first seed.
 */
import { expect, test } from "vitest";
import { markdownTable } from "@leasehold/test-kit/markdown-table";
import { EVENTS, SHAPES, type Situation } from "./failover.ts";
import { playHttpFailover, type HttpFailover } from "./http-failovers.ts";

const RUNS = Number(process.env["LEASEHOLD_FAILOVERS"] ?? 1);
const FIRST_SEED = Number(process.env["LEASEHOLD_FAILOVERS_SEED"] ?? 1);
/** Most of a failover is waiting. */
const AT_ONCE = 6;
/** How often a run is played again, if the machine is too busy for a verdict. */
const MOST_TRIES = 4;

const situations = EVENTS.flatMap((event) => SHAPES.map((shape): Situation => ({ event, shape })));

test(
  `a server leads again within three times what timing() gives, and goes on, in ${RUNS} failovers of each situation`,
  { timeout: 300_000 + RUNS * situations.length * 10_000 },
  async () => {
    const todo = Array.from({ length: RUNS }, (_, run) => situations.map((situation) => ({ situation, seed: FIRST_SEED + run })));
    const left = todo.flat();
    const played = new Map<Situation, HttpFailover[]>();
    const violations: string[] = [];
    const player = async (): Promise<void> => {
      for (let next = left.shift(); next; next = left.shift()) {
        const { situation, seed } = next;
        let result = await playHttpFailover(seed, situation);
        for (let tries = 1; result.isUndecided && tries < MOST_TRIES; tries += 1)
          result = await playHttpFailover(seed, situation);
        if (result.isUndecided) continue;
        if (result.violation) violations.push(`${result.violation.message} (seed ${seed})\n${result.history.join("\n")}`);
        played.set(situation, [...(played.get(situation) ?? []), result]);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, player));
    console.log(`Takeovers as a share of what timing() gives:\n${tableOf(played)}`);
    expect(violations.join("\n\n")).toBe("");
    expect(played.size).toBe(situations.length);
  },
);

function tableOf(played: ReadonlyMap<Situation, readonly HttpFailover[]>): string {
  const rows = [...played].map(([{ event, shape }, results]) => {
    const shares = results.map(({ tookMs = NaN, promisedMs }) => tookMs / promisedMs).toSorted((one, other) => one - other);
    const at = (share: number): string => (shares[Math.ceil(share * shares.length) - 1] ?? NaN).toFixed(2);
    const busyMs = Math.max(...results.map((each) => each.busyMs));
    return [event, shape, String(results.length), at(0.5), at(0.9), at(1), `${Math.round(busyMs)} ms`];
  });
  return markdownTable(["the leader", "network and disks", "runs", "median", "90%", "longest", "machine busy"], rows);
}
