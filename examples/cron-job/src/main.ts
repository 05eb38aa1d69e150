import { once } from "node:events";
import { oncePerTick } from "@leasehold/schedulers/node-cron";
import { SqlLeaseStore } from "@leasehold/sql";
import { schedule } from "node-cron";
import { runProgram } from "./program.ts";
import { file, leaseDurationMs, pattern } from "./settings.ts";
import { writeReport } from "./write-report.ts";

const stop = new AbortController();
// Do not use `once`: npm passes on a Ctrl-C that the terminal sends to this process too. The second signal would end it at once.
for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => stop.abort());

await runProgram(async () => {
  await using store = new SqlLeaseStore({ sqlite: file });
  const tick = oncePerTick({ store, name: "report", leaseDurationMs, signal: stop.signal }, writeReport);
  const underWay = new Set<Promise<void>>();
  const task = schedule(
    pattern,
    async (context) => {
      const due = context.date.toISOString();
      const ticking = tick(context).then(
        (outcome) => console.log(outcome.ran ? `${due}: ${outcome.result} is written` : `${due}: ${outcome.reason}`),
        (error: unknown) => console.error(`${due}: ${error instanceof Error ? error.message : String(error)}`),
      );
      underWay.add(ticking);
      await ticking;
      underWay.delete(ticking);
    },
    { timezone: "Etc/UTC" },
  );
  console.log(`reports are due at ${pattern}; what is done is in ${file}`);
  if (!stop.signal.aborted) await once(stop.signal, "abort");
  await task.destroy();
  await Promise.all(underWay);
});
