import { startPostgres } from "@leasehold/test-kit/backends/postgres";
import { ExampleProcess } from "@leasehold/test-kit/processes/example-process";
import { describe } from "vitest";
import { LEASE_MS, test as base, TIME_LIMIT_MS, workshop } from "./test.ts";

const test = base.extend("partitions", async ({}) => workshop.install("partitions", "build"));

describe.concurrent("examples/partitions", { timeout: TIME_LIMIT_MS }, () => {
  test("applies each order once, although processes are killed and frozen, and imports at three places", async ({
    partitions,
    open,
    expect,
  }) => {
    const server = await startPostgres();
    open.defer(() => server.stop());
    const env = { DATABASE_URL: server.url, LEASE_DURATION_MS: String(LEASE_MS) };
    await partitions.runWith(env, "npm", "run", "prepare-database");
    await partitions.runWith(env, "npm", "run", "add", "--", "1000");
    const start = (program: string): ExampleProcess =>
      open.use(new ExampleProcess(partitions, ["node", `dist/${program}.js`], env));

    const [first, second, third] = [start("main"), start("main"), start("main")];
    await Promise.all([first, second, third].map((process) => process.said("begins")));
    first.signal("SIGKILL");
    await second.freeze();
    const importers = [1, 2, 3, 4].map(() => start("importer"));
    // All shards end at the third, once the leases of the others have expired.
    const begun = (): number =>
      new Set(third.lines.flatMap(({ msg }) => /^shard (\d+), term \d+: begins/.exec(String(msg))?.[1] ?? [])).size;
    await expect.poll(begun, { timeout: 240_000 }).toBe(16);
    second.thaw();
    await partitions.runWith(env, "npm", "run", "add", "--", "100");
    await expect
      .poll(async () => await partitions.runWith(env, "npm", "run", "show"), { timeout: 120_000, interval: 1_000 })
      .toContain("the accounts are exact: 505550 cents in 1100 orders");
    const imports = (process: ExampleProcess): boolean => process.lines.some(({ msg }) => String(msg).includes("imports on"));
    await expect.poll(() => importers.filter(imports).length).toBe(3);
  });
});
