// A member of a fleet in a process of its own: node worker.ts ADDRESS NAME LOG SHARDS PAUSE. It counts under the fences.

import { appendFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { Fleet, type Shard } from "@leasehold/fleet";
import { openLedger } from "./database.ts";

const [address = "", name = "", log = "", shards = "", pauseMs = ""] = process.argv.slice(2);
const ledger = await openLedger(address);
const fleet = new Fleet({
  store: ledger.store,
  fleet: "chaos",
  shards: Number(shards),
  memberId: name,
  leaseDurationMs: 8_000,
  settleMs: 4_000,
  gatherMs: 1_000,
  drainTimeoutMs: 4_000,
  logger: false,
});

/** The kernel's clock, which all processes of the machine share. */
const nowMs = (): number => Number(process.hrtime.bigint() / 1_000n) / 1_000;

function note(line: object): void {
  appendFileSync(log, `${JSON.stringify({ member: name, ...line })}\n`);
}

/** One unit of work. It is noted if the shard was valid at both ends. */
async function work(shard: Shard): Promise<void> {
  const fromMs = nowMs();
  if (!shard.isValid()) return;
  const outcome = await ledger.write(shard, name);
  if (outcome === "failed") return;
  note({ [outcome]: shard.name, term: shard.term });
  const untilMs = nowMs();
  if (outcome === "wrote" && shard.isValid()) note({ worked: shard.name, term: shard.term, fromMs, untilMs });
}

process.on("SIGTERM", () => void fleet.stop().then(() => process.exit(0)));

// One connection serves all shards of this process, so their units take turns.
let turn: Promise<void> = Promise.resolve();
// It stands still between two of them. In a transaction it would keep all others from the database.
process.on("SIGUSR2", () => {
  turn = turn.then(() => void process.kill(process.pid, "SIGSTOP"));
});
await fleet.run(async (shard) => {
  note({ began: shard.name, term: shard.term, atMs: nowMs() });
  while (!shard.signal.aborted) {
    turn = turn.then(() => work(shard));
    await turn;
    await wait(Number(pauseMs), undefined, { signal: shard.signal }).catch(() => undefined);
  }
});
