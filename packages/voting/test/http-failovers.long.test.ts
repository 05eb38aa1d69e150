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
/** Most of a failover is waiting, so many are played at once: more while the machine is punctual, fewer once it is not. */
const AT_ONCE = { least: 6, first: 12, most: 60 };
/** The machine is punctual if it is busy for no longer during a run. */
const PUNCTUAL_MS = 300;
/** How often a run is played again, if the machine is too busy for a verdict. */
const MOST_TRIES = 4;
/** The number of runs between two tables of those until then. */
const TABLE_EVERY = 60;

const situations = EVENTS.flatMap((event) => SHAPES.map((shape): Situation => ({ event, shape })));

test(
  `a server leads again within three times what timing() gives, and goes on, in ${RUNS} failovers of each situation`,
  { timeout: 300_000 + RUNS * situations.length * 10_000 },
  async () => {
    const seeds = Array.from({ length: RUNS }, (_, run) => FIRST_SEED + run);
    const left = seeds.flatMap((seed) => situations.map((situation) => ({ situation, seed, tries: 0 })));
    const played = new Map(situations.map((situation): [Situation, HttpFailover[]] => [situation, []]));
    const violations: string[] = [];
    const playing = new Set<Promise<void>>();
    let atOnce = AT_ONCE.first;
    let count = 0;
    const play = async ({ situation, seed, tries }: (typeof left)[number]): Promise<void> => {
      const result = await playHttpFailover(seed, situation);
      const isPunctual = result.busyMs <= PUNCTUAL_MS;
      atOnce = isPunctual ? Math.min(atOnce + 1, AT_ONCE.most) : Math.max(Math.floor(atOnce * 0.8), AT_ONCE.least);
      if (result.isUndecided) {
        if (tries + 1 < MOST_TRIES) left.push({ situation, seed, tries: tries + 1 });
        return;
      }
      const { violation, history, tookMs = Infinity, promisedMs } = result;
      if (violation) violations.push(`${violation.message} (seed ${seed})\n${history.join("\n")}`);
      else if (isPunctual && tookMs > promisedMs) console.log(`Later than timing() says (seed ${seed})\n${history.join("\n")}`);
      played.get(situation)?.push(result);
      if ((count += 1) % TABLE_EVERY === 0) print(played, atOnce);
    };
    while (left.length > 0 || playing.size > 0) {
      for (const next of left.splice(0, Math.max(atOnce - playing.size, 0))) {
        const one: Promise<void> = play(next).finally(() => playing.delete(one));
        playing.add(one);
      }
      await Promise.race(playing);
    }
    print(played, atOnce);
    expect(violations.join("\n\n")).toBe("");
    expect([...played.values()].filter((results) => results.length === 0)).toEqual([]);
  },
);

const TRAITS: ReadonlyArray<readonly [string, (failover: HttpFailover) => boolean]> = [
  ["each lists itself first", ({ plan }) => plan.isRotated],
  ["another lease of an hour", ({ plan }) => plan.yearly !== undefined],
  ["all", () => true],
];

function print(played: ReadonlyMap<Situation, readonly HttpFailover[]>, atOnce: number): void {
  const all = [...played.values()].flat();
  const rows = [
    ...[...played].map(([{ event, shape }, results]) => rowOf(event, shape, results)),
    ...TRAITS.map(([trait, hasIt]) => rowOf("any", trait, all.filter(hasIt))),
  ];
  const head = ["the leader", "network and disks", "within timing()", "if punctual", "median", "90%", "99%", "longest"];
  const title = `Takeovers as a share of what timing() gives, ${atOnce} at once`;
  console.log(`${title}:\n${markdownTable([...head, "machine busy"], rows)}`);
}

function rowOf(event: string, shape: string, results: readonly HttpFailover[]): readonly string[] {
  const sharesOf = (some: readonly HttpFailover[]): readonly number[] =>
    some.map(({ tookMs = Infinity, promisedMs }) => tookMs / promisedMs).toSorted((one, other) => one - other);
  const within = (shares: readonly number[]): string => `${shares.filter((share) => share <= 1).length} of ${shares.length}`;
  const shares = sharesOf(results);
  const punctual = sharesOf(results.filter(({ busyMs }) => busyMs <= PUNCTUAL_MS));
  const at = (share: number): string => (shares[Math.ceil(share * shares.length) - 1] ?? NaN).toFixed(2);
  const busyMs = Math.max(0, ...results.map((each) => each.busyMs));
  return [event, shape, within(shares), within(punctual), at(0.5), at(0.9), at(0.99), at(1), `${Math.round(busyMs)} ms`];
}
