/** `npm run demo -- --fleet`: processes share shards. One is killed, one is frozen, one is added, and one is stopped. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { readFleet } from "@leasehold/fleet";
import { openLedger, startDatabase } from "../../suites/fleet/database.ts";
import { FleetProcesses, judgeFleet } from "../../suites/fleet/fleet-processes.ts";
import { demoMs } from "./demo-event.ts";
import { seconds } from "./narration.ts";

const SHARDS = 20;
const POLL_MS = 200;
/** The pause between two units of work on a shard. */
const PAUSE_MS = 400;

/** Plays all scenes. Returns whether the judge has found no fault. */
export async function playFleet(signal: AbortSignal): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-demo-"));
  await using _folder = { [Symbol.asyncDispose]: async () => await rm(folder, { recursive: true, force: true }) };
  await using database = await startDatabase("SQLite", folder);
  await using processes = new FleetProcesses(folder, database.address, SHARDS, PAUSE_MS);
  const ledger = await openLedger(database.address);
  let scenes = 0;
  const scene = async (title: string, members: readonly string[], act: () => unknown): Promise<void> => {
    const beganMs = demoMs();
    scenes += 1;
    process.stdout.write(`\n${scenes}. ${title}.\n`);
    await act();
    for (;;) {
      const status = await readFleet(ledger.store, "chaos");
      const counts = members.map((name) => status.members.find(({ memberId }) => memberId === name)?.shards ?? 0);
      const isEven = Math.max(...counts) - Math.min(...counts) <= 1 && counts.reduce((sum, count) => sum + count, 0) === SHARDS;
      if (isEven && status.shards.every(({ state }) => state === "held")) {
        const shown = members.map((name, index) => `${name} ${counts[index]}`).join(", ");
        process.stdout.write(`   after ${seconds(demoMs(beganMs))}: ${shown}\n`);
        return;
      }
      await wait(POLL_MS, undefined, { signal });
    }
  };

  process.stdout.write(`Leasehold demo: a fleet of processes shares ${SHARDS} shards, each with one holder at most.\n`);
  await scene("Five processes start", ["m1", "m2", "m3", "m4", "m5"], () => {
    for (const name of ["m1", "m2", "m3", "m4", "m5"]) processes.start(name);
  });
  await scene("m1 is killed", ["m2", "m3", "m4", "m5"], async () => await processes.end("m1", "SIGKILL"));
  await scene("m2 is frozen", ["m3", "m4", "m5"], () => processes.signal("m2", "SIGUSR2"));
  await scene("m2 thaws", ["m2", "m3", "m4", "m5"], () => processes.signal("m2", "SIGCONT"));
  await scene("m6 is added", ["m2", "m3", "m4", "m5", "m6"], () => processes.start("m6"));
  await scene("m3 is stopped", ["m2", "m4", "m5", "m6"], async () => await processes.end("m3", "SIGTERM"));
  await processes[Symbol.asyncDispose]();

  const lines = await processes.lines();
  const entries = await ledger.entries();
  await ledger.close();
  const { overlaps, stale, starts, wrote, refused, areTermsOnce } = judgeFleet(lines, entries);
  const isGood = overlaps.length === 0 && stale.length === 0 && areTermsOnce && entries.length >= wrote;
  process.stdout.write(
    `\n${starts} starts of shards, ${wrote} guarded writes, and ${refused} refused.\n` +
      `Two holders at once: ${overlaps.length}. Stale writes in the ledger: ${stale.length}. ${isGood ? "All is well." : "FAILED."}\n`,
  );
  return isGood;
}
