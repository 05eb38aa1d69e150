import type { StoreUnderTest } from "@leasehold/conformance";
import { afterAll, beforeAll } from "vitest";
import { runConformance, runConformanceUnless, type RunOptions } from "@leasehold/test-kit/conformance/run-conformance";
import { onServer, type SqlServer } from "./sql-place.ts";

/** How the suite runs on a server. */
interface ServerRun extends Pick<StoreUnderTest, "lacks" | "skips">, Pick<RunOptions, "concurrently"> {
  readonly start: () => Promise<SqlServer>;
}

/** Registers the suite for a kind of server in Vitest. Each case has its own database. */
export async function runOnServer(
  name: string,
  missing: Promise<string | undefined>,
  { start, concurrently = true, ...parts }: ServerRun,
): Promise<void> {
  await runConformanceUnless(missing, name, () => {
    let server: SqlServer;
    beforeAll(async () => {
      server = await start();
    });
    afterAll(() => server.stop());
    runConformance(
      onServer(name, () => server, parts),
      { concurrently },
    );
  });
}
