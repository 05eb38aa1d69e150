/**
 * Counts the requests of a leader and a standby to every store, for a minute each in real time. Run it after a change of the
 * default timing, or of the requests of a renewal or a poll. It takes three minutes on a machine that does nothing else:
 *
 * `npx node --conditions=@leasehold/source test/suites/costs/hours.ts`
 */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { Elector } from "@leasehold/core";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";
import { openStore, testStore } from "@leasehold/test-kit/stores/stores";
import { RequestCounter, type Requests } from "../../programs/bench/request-counter.ts";
import { OF_A_MEMBER } from "./quorums.ts";
import { CHARGED_STORES, USAGES, type ChargedStore } from "./usage.ts";

/** Requests that are sent only once come before this time. */
const SETTLED_MS = 17_000;
const COUNTED_MS = 60_000;
const IN_AN_HOUR = 60;
/** A leader sends twelve requests in that time. One of them may come before or after it. */
const MOST = 9 / 8;
const LEAST = 7 / 8;
/** A standby is charged with the most requests. It may poll less often. */
const LEAST_OF_STANDBY = 1 / 2;

/** The names under which the members of the kit's quorum send. */
const MEMBERS = ["sqlite", "dynamodb", "firestore"].map((name) => `${name} (${name})`);

/** The requests of a leader alone, and of a leader with a standby. */
interface Counted {
  readonly alone: Requests;
  readonly both: Requests;
}

const problems = await Promise.all(
  [...CHARGED_STORES, "quorum" as const].map(async (name) => problemsOf(name, await counted(name))),
);
for (const problem of problems.flat()) console.error(problem);
process.exitCode = problems.flat().length === 0 ? 0 : 1;

async function counted(name: ChargedStore | "quorum"): Promise<Counted> {
  await using service = await (await testStore(name)).start();
  await using end = new AsyncDisposableStack();
  using counter = new RequestCounter();
  const election = `costs-${randomUUID()}`;
  const withOneMore = async (): Promise<Requests> => {
    const open = await openStore(service.settings);
    end.defer(open.close);
    const elector = new Elector({ store: open.store, election });
    const run = elector.run(untilAborted);
    end.defer(async () => {
      await elector.stop();
      await run;
    });
    const senders = name === "quorum" ? MEMBERS : [open.store.name];
    await delay(SETTLED_MS);
    const before = counter.by(...senders);
    await delay(COUNTED_MS);
    const after = counter.by(...senders);
    return { reads: (after.reads - before.reads) * IN_AN_HOUR, writes: (after.writes - before.writes) * IN_AN_HOUR };
  };
  return { alone: await withOneMore(), both: await withOneMore() };
}

function problemsOf(name: ChargedStore | "quorum", { alone, both }: Counted): string[] {
  const times = name === "quorum" ? MEMBERS.length : 1;
  const { leader, standby } = name === "quorum" ? OF_A_MEMBER : USAGES[name];
  return (["reads", "writes"] as const).flatMap((kind) => {
    const [ofLeader, ofStandby] = [times * leader[kind], times * standby[kind]];
    console.log(`${name}: ${alone[kind]} ${kind} of a leader (${ofLeader}), ${both[kind]} of both (${ofLeader + ofStandby})`);
    return [
      ...outside(`${name}: ${kind} of a leader`, alone[kind], LEAST * ofLeader, MOST * ofLeader),
      ...outside(
        `${name}: ${kind} of both`,
        both[kind],
        LEAST * ofLeader + LEAST_OF_STANDBY * ofStandby,
        MOST * (ofLeader + ofStandby),
      ),
    ];
  });
}

function outside(what: string, count: number, least: number, most: number): string[] {
  return count >= least && count <= most ? [] : [`${what} in an hour: ${count}, which should be ${least} to ${most}`];
}
