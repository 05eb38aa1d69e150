import { join } from "node:path";
import { startAzurite } from "@leasehold/test-kit/backends/azurite";
import { describe, expect } from "vitest";
import { Dockerfile } from "./dockerfile.ts";
import { ExampleProcess } from "@leasehold/test-kit/processes/example-process";
import { test, TIME_LIMIT_MS, workshop } from "./test.ts";

describe.concurrent("examples on Azure", { timeout: TIME_LIMIT_MS }, () => {
  test("azure-functions makes a night's report once, however often it is delivered", async ({ open }) => {
    const example = await workshop.install("azure-functions", "build");
    const azurite = open.use(await startAzurite());
    const child = join(import.meta.dirname, "azure-child.ts");
    const invoke = async (): Promise<unknown> =>
      JSON.parse(
        await example.runWith(
          { LEASE_STORAGE: azurite.connectionString },
          ...(["node", child, join(example.folder, "dist/nightly-report.js"), "nightlyReport"] as const),
        ),
      );

    expect(await invoke()).toMatchObject({ logs: ["report of acme, attempt 1", "report of globex, attempt 1", said("ran")] });
    expect(await invoke()).toEqual({ returnValue: { elected: false, reason: "done" }, logs: [said("skipped")] });
  });

  test("azure-container-apps has an image, and a candidate takes over from another", async ({ open }) => {
    const example = await workshop.install("azure-container-apps", "build");
    const dockerfile = new Dockerfile(await example.read("Dockerfile"));
    expect(dockerfile.faults).toEqual([]);
    // The build steps are the same as the worker's, so the test of the worker's image covers them.
    expect(dockerfile.building).toEqual((await Dockerfile.of("worker")).building);
    const azurite = open.use(await startAzurite());
    const start = (): ExampleProcess =>
      open.use(new ExampleProcess(example, dockerfile.command, { LEASE_STORAGE: azurite.connectionString }));

    const leader = start();
    await leader.said(({ IsLeader: leads, Term: term }) => leads === 1 && term === 1);
    const standby = start();
    await standby.said(({ IsLeader: leads }) => leads === 0);
    leader.signal("SIGTERM");
    expect(await leader.ended).toBe(0);
    await standby.said(({ IsLeader: leads, Term: term }) => leads === 1 && term === 2);
  });
});

/** The line in which an invocation reports its outcome. */
function said(outcome: string): unknown {
  return expect.stringContaining(`"outcome":"${outcome}"`);
}
