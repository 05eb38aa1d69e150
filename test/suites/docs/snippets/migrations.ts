import { oncePerOccurrence } from "@leasehold/core";
import type { SqlLeaseStore } from "@leasehold/sql";

declare const store: SqlLeaseStore;
declare function migrate(options: { signal: AbortSignal }): Promise<void>;
declare function serve(): Promise<void>;

export async function perDeployment(): Promise<void> {
  await store.migrate(); // the tables of a SQL store; others need none
  const version = process.env["GIT_SHA"];
  if (!version) throw new Error("GIT_SHA is not set.");
  await oncePerOccurrence(
    { store, name: "migrate", key: version },
    async ({ signal }) => {
      await migrate({ signal });
      signal.throwIfAborted();
    },
    { signal: AbortSignal.timeout(600_000) },
  );
  await serve();
}
