/**
 * A program that owns two workers of the demo, for tests of their end. Once both run and one of them is frozen, it prints their
 * process ids. Then it waits, or disposes of them, depending on its argument. No store runs, so the workers never reach one.
 */
import { azureSettings } from "@leasehold/test-kit/stores/azure";
import { EventLog } from "./event-log.ts";
import { Workers } from "./workers.ts";

const log = new EventLog(new AbortController().signal);
const workers = new Workers({
  log,
  settings: {
    store: azureSettings("http://127.0.0.1:1", "demo"),
    election: "demo",
    ledgerName: "ledger",
    leaseDurationMs: 15_000,
    retryPeriodMs: 2_000,
    unitOfWorkMs: 1_000,
  },
  onCrash: (error) => {
    throw error;
  },
});
const names = [workers.start(), workers.start()];
const pids: number[] = [];
for (const of of names) {
  const { pid } = await log.next({ what: "a process", event: "spawned", of, from: 0 });
  pids.push(pid);
  await log.next({ what: "a standby", event: "standby", of, from: 0 });
}
process.kill(pids[0]!, "SIGSTOP");
await workers.stopped(names[0]!);
process.stdout.write(`${JSON.stringify(pids)}\n`);
if (process.argv[2] === "dispose") await workers[Symbol.asyncDispose]();
else setInterval(() => undefined, 60_000);
