import { setTimeout as delay } from "node:timers/promises";
import type { EventLog } from "./event-log.ts";
import { formatMs, judgeWorkers, type Evidence } from "./expectations.ts";
import type { Measure, Stage, Story } from "./story.ts";

/** How many entries a leader adds after a renewal: the next one is then still to come. */
const ENTRIES = 3;
/** How many renewals show that a leader is left alone: more than a lease of them. */
const RENEWALS = 4;
/** How many the last leader may still add, so that the picture ends with it. */
const LAST_ENTRIES = 1.5;

/** Workers that are servers are cut off besides. */
export const serverStory: Story = {
  cast: "three worker processes and nothing else",
  measured: "Each measure runs from the old leader's last renewal, or its release, to the start of the next leader.",
  play: (stage) => play(stage, cutOff),
  judge: judgeWorkers,
  measures,
};

/** Workers are killed, told to end, and frozen. */
export const workerStory: Story = {
  cast: "three worker processes",
  measured: "Each measure runs from the old leader's last renewal, or its release, to the start of the next leader.",
  play: (stage) => play(stage),
  judge: judgeWorkers,
  measures,
};

async function play(stage: Stage, andThen?: (stage: Stage, leader: string) => Promise<void>): Promise<void> {
  const first = await election(stage);
  const second = await crash(stage, first);
  const third = await handover(stage, second);
  const fourth = await freeze(stage, third);
  await andThen?.(stage, fourth);
  await delay(LAST_ENTRIES * stage.unitOfWorkMs, undefined, { signal: stage.signal });
}

async function election({ log, workers }: Stage): Promise<string> {
  log.note("phase", null, {
    title: "Election",
    explanation: "Three workers compete for one lease. One gets it and works; the others stand by.",
  });
  for (let count = 0; count < 3; count += 1) workers.start();
  const { candidate } = await log.next({ what: "a first leader", event: "started-leading", from: 0 });
  return candidate ?? "";
}

async function crash({ log, workers }: Stage, leader: string): Promise<string> {
  await someWork(log, leader);
  log.note("phase", null, {
    title: "Crash",
    explanation: "SIGKILL: the leader is gone without a word. The others must wait until its lease has run out.",
  });
  await workers.standStill(leader);
  const from = log.length;
  workers.kill(leader);
  await reinforce({ log, workers });
  return await successor(log, leader, from, "the dead leader's lease to run out");
}

async function handover({ log, workers }: Stage, leader: string): Promise<string> {
  await someWork(log, leader);
  log.note("phase", null, {
    title: "Handover",
    explanation: "SIGTERM: the leader finishes the work in hand under its lease, releases it, and only then ends.",
  });
  const from = log.length;
  workers.terminate(leader);
  const next = await successor(log, leader, from, "the leader to finish and release");
  await log.next({ what: "the old leader's end", event: "exited", of: leader, from });
  await reinforce({ log, workers });
  return next;
}

async function freeze({ log, workers }: Stage, leader: string): Promise<string> {
  await someWork(log, leader);
  log.note("phase", null, {
    title: "Freeze",
    explanation: "SIGSTOP: the leader stands still in the middle of its work, for longer than its lease lasts.",
  });
  await workers.standStill(leader);
  const from = log.length;
  await workers.pause(leader);
  const next = await successor(log, leader, from, "the frozen leader's lease to run out");

  log.note("phase", null, {
    title: "Thaw",
    explanation: "SIGCONT: the old leader wakes up where it stood, one step from a write that is no longer its to make.",
  });
  const woken = log.length;
  workers.resume(leader);
  await log.next({
    what: "the late write to be refused",
    event: ["fenced-write-refused", "stale-write-accepted"],
    of: leader,
    from: woken,
  });
  await log.next({ what: "the old leader to stand by", event: "standby", of: leader, from: woken });
  await log.next({ what: "the new leader's next entry", event: "wrote", of: next });
  return next;
}

async function cutOff({ log, workers }: Stage, leader: string): Promise<void> {
  await someWork(log, leader);
  log.note("phase", null, {
    title: "Cut off",
    explanation: "Nothing passes between the leader and the two others: it is no majority, and steps down before they elect one.",
  });
  const from = log.length;
  workers.cutOff(leader);
  const next = await successor(log, leader, from, "the cut-off leader's lease to run out");
  log.note("phase", null, {
    title: "Healed",
    explanation: "The old leader hears of the others again, and stands by: its return deposes nobody.",
  });
  workers.rejoin(leader);
  for (let times = 0; times < RENEWALS; times += 1) await log.next({ what: `${next} to renew`, event: "renewed", of: next });
}

/** Lets `leader` work until it has renewed its lease and added some entries since. */
async function someWork(log: EventLog, leader: string): Promise<void> {
  const work = { what: `${leader} to renew and to work`, of: leader } as const;
  await log.next({ ...work, event: "renewed" });
  for (let entries = 0; entries < ENTRIES; entries += 1) await log.next({ ...work, event: "wrote" });
}

/** Waits until another one than `leader` leads and has done some work; returns who. */
async function successor(log: EventLog, leader: string, from: number, what: string): Promise<string> {
  const { candidate } = await log.next({ what, event: "started-leading", notOf: leader, from });
  const next = candidate ?? "";
  await log.next({ what: "the new leader's first entry", event: "wrote", of: next, from });
  return next;
}

/** Starts a fresh worker in the place of one that has ended, as an orchestrator would. */
async function reinforce({ log, workers }: Pick<Stage, "log" | "workers">): Promise<void> {
  const from = log.length;
  const fresh = workers.start();
  await log.next({ what: "a fresh worker to stand by", event: "standby", of: fresh, from });
}

function measures({ takeovers }: Evidence): Measure[] {
  return takeovers.map(({ from, at, ms, leases, since }) => ({
    lane: from,
    from: at - ms,
    to: at,
    text: `${formatMs(ms)} = ${leases.toFixed(2)} leases after the ${since === "renewal" ? "last renewal" : "release"}`,
  }));
}
