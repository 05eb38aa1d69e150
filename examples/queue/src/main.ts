import { Elector } from "@leasehold/core";
import { drain } from "./drain.ts";
import { Payments } from "./payments.ts";
import { runProgram } from "./program.ts";
import { file, leaseDurationMs } from "./settings.ts";

const stop = new AbortController();
// Do not use `once`: npm passes on a Ctrl-C that the terminal sends to this process too. The second signal would end it at once.
for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => stop.abort());

await runProgram(async () => {
  await using payments = new Payments(file);
  const elector = new Elector({ store: payments.store, election: "payments", leaseDurationMs });
  elector.on("startedLeading", ({ term }) => console.log(`term ${term}: ${elector.candidateId} leads`));
  elector.on("stoppedLeading", ({ term }) => console.log(`term ${term}: over`));
  console.log(`${elector.candidateId} campaigns; the payments are in ${file}`);
  await elector.run((leadership) => drain(payments, leadership), { signal: stop.signal });
});
