import { oncePerOccurrence } from "@leasehold/core";
import { SqlLeaseStore } from "@leasehold/sql";
import { runProgram } from "./program.ts";
import { file, leaseDurationMs } from "./settings.ts";
import { writeReport } from "./write-report.ts";

// For a scheduler that starts a program at each tick: npm run once -- 2026-11-20T03:00:00Z
await runProgram(async () => {
  const [, , scheduledAt] = process.argv;
  if (scheduledAt === undefined) throw new Error("Say when it was due: npm run once -- 2026-11-20T03:00:00Z");
  await using store = new SqlLeaseStore({ sqlite: file });
  const outcome = await oncePerOccurrence({ store, name: "report", scheduledAt, leaseDurationMs }, writeReport);
  console.log(outcome.ran ? `${outcome.result} is written` : outcome.reason);
});
