/**
 * One worker of the demo, a process of its own: it competes for the election and, while it leads, adds an entry to a
 * ledger every second. Everything here is what any worker of yours would do, but for `log`, which tells the demo what
 * happens, and for the late write, which is here to be refused.
 */
import { setTimeout as delay } from "node:timers/promises";
import { ContainerClient } from "@azure/storage-blob";
import { BlobLeaseStore } from "@leasehold/azure-blob";
import { Elector, isLeaseholdError, type Leadership } from "@leasehold/core";
import { readLedger, type Entry } from "./ledger.ts";
import { logOf } from "./worker-log.ts";
import { workerSettings } from "./worker-settings.ts";

const { candidateId, connectionString, containerName, election, leaseDurationMs, ledgerName, unitOfWorkMs } = workerSettings();

const container = new ContainerClient(connectionString, containerName);
const ledgerBlob = container.getBlockBlobClient(ledgerName);
const store = new BlobLeaseStore({ container });
const elector = new Elector({ store, election, candidateId, leaseDurationMs });
const log = logOf(elector);

const shutdown = new AbortController();
process.once("SIGTERM", () => shutdown.abort());

await elector.run(lead, { signal: shutdown.signal });
log.close();

async function lead(leadership: Leadership): Promise<void> {
  using _ = log.watch(leadership);

  // First of all: from here on, the service refuses what the leader before us may still send.
  await store.seal(leadership, ledgerBlob);
  log.sealed(leadership);

  const entries: Entry[] = await readLedger(ledgerBlob);
  while (!leadership.signal.aborted) {
    await delay(unitOfWorkMs); // The work. The whole process may freeze here, for any time.
    if (!leadership.isValid()) {
      await writeLate(leadership, entries);
      return;
    }
    entries.push({ entry: entries.length + 1, term: leadership.term, candidate: candidateId });
    await store.fencedUpload(leadership, ledgerBlob, JSON.stringify(entries));
    log.wrote(leadership, entries.length);
  }
}

/** What a worker must not do, done on purpose: it knows that it is deposed, and writes all the same. */
async function writeLate(leadership: Leadership, entries: readonly Entry[]): Promise<void> {
  const late: Entry = { entry: entries.length + 1, term: leadership.term, candidate: candidateId };
  try {
    await store.fencedUpload(leadership, ledgerBlob, JSON.stringify([...entries, late]));
    log.lateWriteAccepted(leadership);
  } catch (error) {
    if (!isLeaseholdError(error, "FENCED")) throw error;
    log.lateWriteRefused(leadership, error);
  }
}
