import { setTimeout as delay } from "node:timers/promises";
import type { EventLog } from "./event-log.ts";
import { followLeader, type Following } from "./follow-leader.ts";
import type { Stage, Story } from "./story.ts";

/** The work of a leader before the next act. After this many entries the next renewal is still to come. */
const SOME_WORK: Following = { renewals: 1, entries: 3 };
/** So many renewals in one term, which cover more than a lease, show that the leader is undisturbed. */
const RENEWALS = 4;
/** How many entries the last leader may still add, so that the picture ends with it. */
const LAST_ENTRIES = 1.5;

/** The story of workers that are servers. One of them is also cut off. */
export const serverStory: Story = {
  cast: "three worker processes and nothing else",
  play: (stage) => play(stage, cutOff),
};

/** Workers are killed, told to end, and frozen. */
export const workerStory: Story = {
  cast: "three worker processes",
  play: (stage) => play(stage),
};

async function play(stage: Stage, andThen?: (stage: Stage) => Promise<void>): Promise<void> {
  await election(stage);
  await crash(stage);
  await handover(stage);
  await freeze(stage);
  await andThen?.(stage);
  await delay(LAST_ENTRIES * stage.unitOfWorkMs, undefined, { signal: stage.signal });
}

async function election({ log, workers }: Stage): Promise<void> {
  log.note("phase", null, {
    title: "Election",
    explanation: "Three workers compete for one lease. One gets it and works; the others stand by.",
  });
  for (let count = 0; count < 3; count += 1) workers.start();
  await followLeader(log, SOME_WORK);
}

async function crash({ log, workers }: Stage): Promise<void> {
  log.note("phase", null, {
    title: "Crash",
    explanation: "SIGKILL: the leader is gone without a word. The others must wait until its lease has run out.",
  });
  const leader = await stillLeader({ log, workers });
  workers.kill(leader);
  await reinforce({ log, workers });
  await successor(log, leader);
  await followLeader(log, SOME_WORK);
}

async function handover({ log, workers }: Stage): Promise<void> {
  log.note("phase", null, {
    title: "Handover",
    explanation: "SIGTERM: the leader finishes the work in hand under its lease, releases it, and only then ends.",
  });
  const leader = await followLeader(log, {});
  const from = log.length;
  workers.terminate(leader);
  await successor(log, leader);
  await log.next({ what: "the old leader's end", event: "exited", of: leader, from });
  await reinforce({ log, workers });
  await followLeader(log, SOME_WORK);
}

async function freeze({ log, workers }: Stage): Promise<void> {
  log.note("phase", null, {
    title: "Freeze",
    explanation: "SIGSTOP: the leader stands still in the middle of its work, for longer than its lease lasts.",
  });
  const leader = await stillLeader({ log, workers });
  await workers.stopped(leader);
  await successor(log, leader);

  log.note("phase", null, {
    title: "Thaw",
    explanation: "SIGCONT: the old leader wakes up where it stood, one step from a write that is no longer its to make.",
  });
  const woken = log.length;
  workers.resume(leader);
  await log.next({
    what: "the late write to be refused",
    event: ["fenced-write-refused", "late-write-accepted"],
    of: leader,
    from: woken,
  });
  await log.next({ what: "the old leader to stand by", event: "standby", of: leader, from: woken });
  await followLeader(log, { entries: 1 });
}

async function cutOff({ log, workers }: Stage): Promise<void> {
  const leader = await followLeader(log, SOME_WORK);
  log.note("phase", null, {
    title: "Cut off",
    explanation: "Nothing passes between the leader and the two others: it is no majority, and steps down before they elect one.",
  });
  workers.cutOff(leader);
  await successor(log, leader);
  log.note("phase", null, {
    title: "Healed",
    explanation: "The old leader hears of the others again, and stands by: its return deposes nobody.",
  });
  workers.rejoin(leader);
  await followLeader(log, { renewals: RENEWALS });
}

/** Waits until a leader has stopped between two requests, and returns its name. */
async function stillLeader({ log, workers }: Pick<Stage, "log" | "workers">): Promise<string> {
  let leader = await followLeader(log, {});
  let from = log.length;
  workers.standStill(leader);
  for (;;) {
    const event = await log.next({
      what: `${leader} to be between two requests`,
      event: ["stands-still", "started-leading"],
      from,
    });
    from = log.events.indexOf(event, from) + 1;
    if (event.event === "stands-still" && event.candidate === leader) return leader;
    // The leader has lost its lease on a busy machine.
    if (event.event === "started-leading" && event.candidate !== leader) {
      leader = event.candidate ?? "";
      workers.standStill(leader);
    }
  }
}

/** Waits until a worker other than `leader` leads and has done some work. */
async function successor(log: EventLog, leader: string): Promise<void> {
  await followLeader(log, { entries: 1, notOf: leader });
}

/** Starts a new worker in place of one that has ended, as an orchestrator would. */
async function reinforce({ log, workers }: Pick<Stage, "log" | "workers">): Promise<void> {
  const from = log.length;
  const fresh = workers.start();
  await log.next({ what: "a fresh worker to stand by", event: "standby", of: fresh, from });
}
