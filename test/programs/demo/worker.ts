/**
 * One worker of the demo, a process of its own. It competes for the election and, while it leads, adds entries to a ledger. Your
 * own worker would do the same, except for three things:
 * - `log` sends events to the demo.
 * - The worker stops itself at the still point.
 * - The late write is there to be refused.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Elector, type Leadership } from "@leasehold/core";
import { openStore } from "@leasehold/test-kit/stores/stores";
import { StillPoint } from "./quiescence.ts";
import { logOf, type Watch } from "./worker-log.ts";
import { workerSettings } from "./worker-settings.ts";

const { candidateId, election, leaseDurationMs, retryPeriodMs, ledgerName, unitOfWorkMs, ...settings } = workerSettings();

const { store, document, isRefusal, close } = await openStore(settings.store);
const ledger = document(ledgerName);
// Some SDKs load their code at the first request. An attempt with a short lease may be too short for this, so read here first.
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
  try {
    await keepLedger(leadership, watch);
  } catch (error) {
    // The store refuses a leader that was deposed meanwhile. This term is over.
    if (!isRefusal(error)) throw error;
    const { name, message } = error as Error;
    log.tell("fenced-write-refused", leadership.term, { error: name, message });
  }
}

async function keepLedger(leadership: Leadership, watch: Watch): Promise<void> {
  const { signal, term } = leadership;
  // The content of the ledger: one entry for each unit of work. Undefined while it is unknown.
  let entries: readonly object[] | undefined;
  let isSealed = ledger.seal === undefined;
  let isLate = false;
  while (isLate || !signal.aborted) {
    try {
      if (!isSealed) {
        // From here on, the store refuses late writes of the previous leader. Only some stores need this seal.
        await ledger.seal?.(leadership);
        isSealed = true;
        log.tell("sealed", term, {});
      }
      entries ??= JSON.parse((await ledger.read()) || "[]") as object[];
      if (stillPoint.isReached(leadership)) {
        log.tell("stands-still", term, {});
        stillPoint.standStill(); // The demo kills or freezes the process here, for any time.
        watch.sample();
      }
      await delay(unitOfWorkMs); // The work.
      const longer = [...entries, { entry: entries.length + 1, term, candidate: candidateId }];
      // A worker must not write late. This worker does so on purpose, although it knows that it is deposed.
      isLate = !leadership.isValid();
      const sentAt = log.now();
      await ledger.write(leadership, JSON.stringify(longer));
      if (isLate) {
        log.tell("late-write-accepted", term, { sentAt });
        return;
      }
      entries = longer;
      log.tell("wrote", term, { entry: longer.length });
    } catch (error) {
      if (isRefusal(error)) throw error;
      // The store is busy, or its reply was lost. The ledger must be read again.
      process.stderr.write(`${candidateId}: ${String(error)}\n`);
      entries = undefined;
      await delay(unitOfWorkMs);
    }
  }
}
