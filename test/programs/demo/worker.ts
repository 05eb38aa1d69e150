/**
 * One worker of the demo, a process of its own: it competes for the election and, while it leads, adds entries to a
 * ledger. Everything here is what any worker of yours would do, but for `log`, which tells the demo what happens, for the
 * moment at which it stands still, and for the late write, which is here to be refused.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Elector, type Leadership } from "@leasehold/core";
import { openStore } from "@leasehold/test-kit/stores/stores";
import { entriesOf, type Entry } from "./ledger.ts";
import { StillPoint } from "./still-point.ts";
import { logOf } from "./worker-log.ts";
import { workerSettings } from "./worker-settings.ts";

const { candidateId, election, leaseDurationMs, retryPeriodMs, ledgerName, unitOfWorkMs, ...settings } = workerSettings();

const { store, document, isRefusal, close } = await openStore(settings.store);
const ledger = document(ledgerName);
// Some SDKs load themselves at the first request, for longer than an attempt may take with a short lease: not this one's.
await ledger.read().catch(() => undefined);
const elector = new Elector({ store, election, candidateId, leaseDurationMs, retryPeriodMs });
const log = logOf(elector);
const stillPoint = new StillPoint(elector.timing);

const shutdown = new AbortController();
process.once("SIGTERM", () => shutdown.abort());

await elector.run(lead, { signal: shutdown.signal });
await close();
log.close();

async function lead(leadership: Leadership): Promise<void> {
  using watch = log.watch(leadership);

  // First of all, where the store needs it: from here on, it refuses what the leader before us may still send.
  if (ledger.seal) {
    await ledger.seal(leadership);
    log.sealed(leadership);
  }

  const entries = entriesOf(await ledger.read());
  while (!leadership.signal.aborted) {
    if (stillPoint.isReached(leadership)) {
      log.standsStill(leadership);
      stillPoint.standStill(); // The process is killed here, or it freezes, for any time.
      watch.sample();
    }
    await delay(unitOfWorkMs); // The work.
    if (!leadership.isValid()) {
      await writeLate(leadership, entries);
      return;
    }
    entries.push({ entry: entries.length + 1, term: leadership.term, candidate: candidateId });
    await ledger.write(leadership, JSON.stringify(entries));
    log.wrote(leadership, entries.length);
  }
}

/** A worker must not do this, and does it on purpose: it knows that it is deposed, and writes all the same. */
async function writeLate(leadership: Leadership, entries: readonly Entry[]): Promise<void> {
  const late: Entry = { entry: entries.length + 1, term: leadership.term, candidate: candidateId };
  try {
    await ledger.write(leadership, JSON.stringify([...entries, late]));
    log.lateWriteAccepted(leadership);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    log.lateWriteRefused(leadership, error as Error);
  }
}
