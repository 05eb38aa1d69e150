import { SqlLeaseStore } from "@leasehold/sql";

/** A process that acquires and breaks without a pause until it is killed. Arguments: `<file> <election>`. */
const [file = "", election = ""] = process.argv.slice(2);
// This process must not outlive the test.
process.on("disconnect", () => process.exit());
const store = new SqlLeaseStore({ sqlite: file });
const request = { election, candidateId: "writer", leaseDurationMs: 15_000, renewIntervalMs: 5_000, timeoutMs: 5_000 };
process.send?.("ready");
for (;;) {
  await store.acquire(request);
  await store.break(election, { reason: "again", immediate: true });
  // Without this turn the process would not notice its parent's end.
  await new Promise((resolve) => setImmediate(resolve));
}
