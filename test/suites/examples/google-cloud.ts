import { startFirestore, type FirestoreProcess } from "@leasehold/test-kit/backends/firestore";
import { describe, expect } from "vitest";
import { Dockerfile } from "./dockerfile.ts";
import { freePort } from "@leasehold/test-kit/backends/free-port";
import { ExampleProcess } from "@leasehold/test-kit/processes/example-process";
import type { DeployedContainer } from "./google-template.ts";
import type { InstalledExample } from "./installed-example.ts";
import { test as base, TIME_LIMIT_MS, workshop } from "./test.ts";

const test = base
  .extend("example", async ({}) => workshop.install("google-cloud", "build"))
  /** The stack that infra/gcp deploys it with. */
  .extend("template", async ({}) => workshop.googleTemplate)
  .extend("firestore", async ({ open, template }) => open.use(await startFirestore(template.databases)));

/** Starts a container of the stack as Cloud Run does, with its command and only its variables. The service is our own. */
function start(
  open: AsyncDisposableStack,
  example: Pick<InstalledExample, "folder">,
  firestore: FirestoreProcess,
  { command = ["node", "dist/candidate.js"], env }: DeployedContainer,
  more: NodeJS.ProcessEnv = {},
): ExampleProcess {
  return open.use(new ExampleProcess(example, command, { ...env, FIRESTORE_EMULATOR_HOST: firestore.host, ...more }));
}

describe.concurrent("examples/google-cloud, with the settings of the stack of infra/gcp", { timeout: TIME_LIMIT_MS }, () => {
  test("refreshes in one region, while the other skips", async ({ open, example, template, firestore }) => {
    const region = async (location: string): Promise<ExampleProcess> => {
      const container = template.container("google_cloud_run_v2_service", location);
      const service = start(open, example, firestore, container, { PORT: String(await freePort()) });
      await service.said("URL: ");
      return service;
    };
    const [west, east] = [await region("europe-west1"), await region("us-east4")];
    const scheduled = { "X-CloudScheduler-JobName": "refresh-rates", "X-CloudScheduler-ScheduleTime": "2026-01-01T00:00:00Z" };

    expect((await west.ask("/", scheduled)).body).toEqual({ refreshed: 2, term: 1 });
    expect((await east.ask("/", scheduled)).body).toEqual({ elected: false, reason: "held-back" });
    expect((await west.ask("/", scheduled)).body).toEqual({ refreshed: 2, term: 2 });
    // Three minutes pass without the first region.
    await firestore.advance(180_000);
    expect((await east.ask("/", scheduled)).body).toEqual({ refreshed: 2, term: 3 });
    expect((await west.ask("/", scheduled)).body).toEqual({ elected: false, reason: "held-back" });
  });

  test("leads in one of two candidates, and hands over within Cloud Run's ten seconds", async ({
    open,
    example,
    template,
    firestore,
  }) => {
    const container = template.container("google_cloud_run_v2_worker_pool");
    const election = "billing";
    expect(Number(container.env["DRAIN_TIMEOUT_MS"])).toBeLessThan(10_000);
    const leader = start(open, example, firestore, container, { HEALTH_PORT: String(await freePort()) });
    // The lines that the stack's alerts count.
    const begun = { Election: election, IsLeader: 1, HasLeader: 1, Transitions: 1 };
    expect(await leader.said(({ Transitions: begins }) => begins === 1)).toMatchObject({ ...begun, Term: 1 });
    const standby = start(open, example, firestore, container, { HEALTH_PORT: String(await freePort()) });
    await standby.said(({ IsLeader: leads }) => leads === 0);

    leader.signal("SIGTERM");
    expect(await leader.ended).toBe(0);
    expect(await standby.said(({ Transitions: begins }) => begins === 1)).toMatchObject({ ...begun, Term: 2 });
  });

  test("has in its image what the stack starts", async ({ open, example, template, firestore }) => {
    const dockerfile = new Dockerfile(await example.read("Dockerfile"));
    expect(dockerfile.faults).toEqual([]);
    // The build steps are the same as the worker's, so the test of the worker's image covers them.
    expect(dockerfile.building).toEqual((await Dockerfile.of("worker")).building);
    const pool = template.container("google_cloud_run_v2_worker_pool");
    // The pool has no command of its own.
    expect(pool.command).toBeUndefined();
    const env = { HEALTH_PORT: String(await freePort()) };
    const candidate = start(open, example, firestore, { ...pool, command: dockerfile.command }, env);
    await candidate.said(({ IsLeader: leads }) => leads === 1);
    const health = await fetch(`http://127.0.0.1:${env.HEALTH_PORT}/live`);
    expect(await health.json()).toMatchObject({ leading: true });
  });
});
