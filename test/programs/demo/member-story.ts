import { setTimeout as delay } from "node:timers/promises";
import type { MemberService } from "@leasehold/test-kit/stores/test-store";
import { isEvent, type DemoEvent } from "./demo-event.ts";
import type { EventLog } from "./event-log.ts";
import { followLeader } from "./follow-leader.ts";
import { all, formatMs, oneLeader, RENEWALS, undisturbed, type Evidence, type Expectation } from "./expectations.ts";
import type { Measure, Stage, Story } from "./story.ts";

/** The time between two checks whether an emptied store has a record again. */
const LOOK_MS = 50;
/** How long no worker leads, in leases. It is long enough for the picture to show it. */
const NOBODY = 0.4;

/** Three stores keep a lease together. Two of them die and come back, one of them empty. */
export const memberStory: Story = {
  cast: "two worker processes, three stores",
  measured: "The measures are the leader's way down after its last renewal, and the next one's start after a store's return.",
  play,
  judge,
  measures,
};

async function play(stage: Stage): Promise<void> {
  const { log, leaseDurationMs, signal } = stage;
  // The first one keeps its data on a disk, the second one only in memory.
  const [onDisk, inMemory] = ["dynamodb", "firestore"].map((name) => stage.members.find((member) => member.name === name)!) as [
    MemberService,
    MemberService,
  ];
  await election(stage);
  await followLeader(log, { renewals: RENEWALS });
  act(log, "One store dies", "SIGKILL to DynamoDB while the leader leads: two stores of three are left, and nothing happens.");
  await kill(log, onDisk);
  await followLeader(log, { renewals: RENEWALS });

  act(
    log,
    "A second store dies",
    "SIGKILL to Firestore: the only store that is left is no majority. The leader steps down in time.",
  );
  await kill(log, inMemory);
  await nobody(log);
  await delay(NOBODY * leaseDurationMs, undefined, { signal });

  act(log, "One is back", "DynamoDB is started again, with what it had on its disk: with SQLite it is a majority.");
  const back = log.length;
  await start(log, onDisk, false);
  await log.next({ what: "a leader", event: "started-leading", from: back });
  await followLeader(log, { entries: 1 });

  act(
    log,
    "The other is back, and has lost everything",
    "Firestore is started again, empty. It does not count before the others have written it anew.",
  );
  await start(log, inMemory, true);
  while (!(await inMemory.keeps(stage.election))) await delay(LOOK_MS, undefined, { signal });
  log.note("member-healed", null, { member: inMemory.name });
  await followLeader(log, { renewals: 1 });

  act(log, "It carries again", "SIGKILL to DynamoDB: now the store that had lost everything makes the majority, with SQLite.");
  await kill(log, onDisk);
  await followLeader(log, { renewals: RENEWALS });
}

async function election({ log, workers }: Stage): Promise<void> {
  act(log, "Election", "Two workers compete for one lease, which three stores keep together. One gets it; the other stands by.");
  workers.start();
  workers.start();
  const { candidate } = await log.next({ what: "a first leader", event: "started-leading", from: 0 });
  await log.next({ what: "the other to stand by", event: "standby", notOf: candidate ?? "", from: 0 });
}

/** Waits until every term is over. */
async function nobody(log: EventLog): Promise<void> {
  const leads = (): boolean => {
    const over = new Set(log.events.filter((event) => isEvent(event, "stopped-leading")).map(({ term }) => term));
    return log.events.some((event) => isEvent(event, "started-leading") && !over.has(event.term));
  };
  while (leads()) await log.next({ what: "the leader to step down", event: "stopped-leading" });
}

function act(log: EventLog, title: string, explanation: string): void {
  log.note("phase", null, { title, explanation });
}

async function kill(log: EventLog, member: MemberService): Promise<void> {
  await member.kill();
  // Log this only after the kill: no request that is sent later reaches the store.
  log.note("member-killed", null, { member: member.name });
}

async function start(log: EventLog, member: MemberService, empty: boolean): Promise<void> {
  const since = log.now();
  await member.start();
  log.note("member-started", null, { member: member.name, empty, since });
}

/** Checks the leaders while stores die and come back, one of them empty. */
function judge(evidence: Evidence): Expectation[] {
  const { events, timing } = evidence;
  const [first, second, third] = all(events, "member-killed");
  const [back] = all(events, "member-started");
  const healed = all(events, "member-healed")[0];
  const emptied = all(events, "member-started").find(({ empty }) => empty);
  const { leaderDown, leaderBack } = momentsOf(evidence);
  // A leader may log its start late. So its lease counts from when the leader sent the request for it.
  const without = all(events, "started-leading").filter(
    ({ at, validUntil }) => second && back && validUntil - timing.validForMs > second.at && at < back.since,
  );
  const between = (from?: number, to = Infinity): readonly DemoEvent[] =>
    events.filter(({ at }) => from !== undefined && at > from && at < to);
  return [
    oneLeader(evidence),
    undisturbed("one store of three dies, and the leader goes on", between(first?.at, second?.at)),
    {
      expected: "without a majority the leader steps down",
      held: leaderDown !== undefined,
      found: leaderDown ? `${formatMs(leaderDown.to - leaderDown.from)} after its last renewal` : "it did not",
    },
    {
      expected: "no leader begins while one store of three is left",
      held: second !== undefined && back !== undefined && without.length === 0,
      found: `${without.length} leaders`,
    },
    {
      expected: "a worker leads once a store is back",
      held: leaderBack !== undefined,
      found: leaderBack ? `after ${formatMs(leaderBack.to - leaderBack.from)}` : "none",
    },
    {
      expected: "the store that came back empty is written anew",
      held: emptied !== undefined && healed !== undefined && healed.at > emptied.since,
      found: emptied && healed ? `after ${formatMs(healed.at - emptied.at)}` : "never",
    },
    undisturbed("another one dies, and the store that was emptied makes the majority", between(third?.at)),
  ];
}

/** Returns when the leader gave up without a majority, and when a leader began again. */
function momentsOf({ events, timing }: Evidence): {
  readonly leaderDown?: Omit<Measure, "text">;
  readonly leaderBack?: Omit<Measure, "text">;
} {
  const [back] = all(events, "member-started");
  const leads = back && all(events, "started-leading").find(({ at }) => at > back.since);
  const last = back && all(events, "started-leading").findLast(({ at }) => at < back.since);
  const own = events.filter(({ term }) => last !== undefined && term === last.term);
  const ending = all(own, "ending").find(({ lost }) => lost);
  const extended = [...all(own, "started-leading"), ...all(own, "renewed")].map(({ validUntil }) => validUntil);
  const from = Math.max(...extended) - timing.validForMs;
  return {
    ...(ending ? { leaderDown: { lane: ending.candidate ?? "", from, to: ending.at } } : {}),
    ...(back && leads ? { leaderBack: { lane: back.member, from: Math.min(back.at, leads.at), to: leads.at } } : {}),
  };
}

function measures(evidence: Evidence): Measure[] {
  const { leaderDown, leaderBack } = momentsOf(evidence);
  const { leaseDurationMs } = evidence.timing;
  const text = ({ from, to }: { readonly from: number; readonly to: number }): string =>
    `${formatMs(to - from)} = ${((to - from) / leaseDurationMs).toFixed(2)} leases`;
  return [
    ...(leaderDown ? [{ ...leaderDown, text: `${text(leaderDown)} after the last renewal` }] : []),
    ...(leaderBack ? [{ ...leaderBack, text: `${text(leaderBack)} after the return` }] : []),
  ];
}
