import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startPostgres } from "@leasehold/test-kit/backends/postgres";
import { startTcpFaultProxy } from "@leasehold/test-kit/faults/tcp-fault-proxy";
import { describe, expect } from "vitest";
import { Dockerfile } from "./dockerfile.ts";
import { freePort } from "@leasehold/test-kit/backends/free-port";
import { ExampleProcess } from "@leasehold/test-kit/processes/example-process";
import type { InstalledExample } from "./installed-example.ts";
import { LEASE_MS, test as base, TIME_LIMIT_MS, workshop } from "./test.ts";

/** The duration of a request that has to last until another process leads: ten times the usual time on an idle machine. */
const SLOW_MS = 20_000;

const test = base.extend("worker", async ({}) => workshop.install("worker", "build"));

/** Starts a worker on the store that the variables name. */
async function start(
  open: AsyncDisposableStack,
  example: Pick<InstalledExample, "folder">,
  env: NodeJS.ProcessEnv,
  command: readonly [string, ...string[]] = ["node", "dist/main.js"],
): Promise<ExampleProcess> {
  const PORT = String(await freePort());
  const worker = open.use(new ExampleProcess(example, command, { LEASE_DURATION_MS: String(LEASE_MS), PORT, ...env }));
  await worker.said("Server listening");
  return worker;
}

/** Starts two workers, of which the first leads. */
async function startTwo(
  open: AsyncDisposableStack,
  example: InstalledExample,
  env: NodeJS.ProcessEnv,
  main = "dist/main.js",
): Promise<[leader: ExampleProcess, standby: ExampleProcess]> {
  const leader = await start(open, example, env, ["node", main]);
  await leader.said("startedLeading");
  const standby = await start(open, example, env);
  await standby.said("newLeader");
  return [leader, standby];
}

describe.concurrent("examples/worker", { timeout: TIME_LIMIT_MS }, () => {
  test("on SIGTERM answers what is under way, frees the lease at once, and exits with 0", async ({ worker, folder, open }) => {
    const env = { SQLITE_FILE: join(folder, "polite.db"), DRAIN_TIMEOUT_MS: String(3 * SLOW_MS) };
    const [leader, standby] = await startTwo(open, worker, env);
    const slow = leader.ask(`/slow?ms=${SLOW_MS}`);
    await leader.said("incoming request");

    leader.signal("SIGTERM");
    const stopped = await leader.said("stoppedLeading");
    expect(stopped).toMatchObject({ released: true });
    await standby.said("startedLeading");
    // The request lasts longer than the change of the leader, and no new request is accepted meanwhile.
    await expect(leader.ask("/leader")).rejects.toThrow("fetch failed");
    expect((await standby.ask("/leader")).body).toMatchObject({ leading: true, seen: { term: 2 } });
    expect(leader.lines.some(({ msg }) => msg === "request completed")).toBe(false);

    expect(await slow).toEqual({ status: 200, body: { answered: true } });
    expect(await leader.ended).toBe(0);
    expect(leader.stderr).toBe("");
  });

  test("with work that does not stop answers what is under way, and exits with 70; nobody leads beside it", async ({
    worker,
    folder,
    open,
  }) => {
    await worker.copyBuild(
      "stubborn",
      "work.js",
      await worker.read("dist/work.js"),
      "export const work = () => new Promise(() => {});\n",
    );
    const env = { SQLITE_FILE: join(folder, "stubborn.db"), DRAIN_TIMEOUT_MS: "5000" };
    const [leader, standby] = await startTwo(open, worker, env, "stubborn/main.js");
    const slow = leader.ask("/slow?ms=500");
    await leader.said("incoming request");

    leader.signal("SIGTERM");

    expect(await slow).toEqual({ status: 200, body: { answered: true } });
    const overrun = await leader.said("overrun");
    expect(await leader.ended).toBe(70);
    const started = await standby.said("startedLeading");
    expect(Number(started["time"])).toBeGreaterThan(Number(overrun["time"]));
  });

  test("cuts off requests that take too long, and says so", async ({ worker, folder, open }) => {
    const env = { SQLITE_FILE: join(folder, "endless.db"), DRAIN_TIMEOUT_MS: "500" };
    const alone = await start(open, worker, env);
    const slow = alone.ask("/slow?ms=600000");
    slow.catch(() => undefined);
    await alone.said("incoming request");

    alone.signal("SIGTERM");

    await alone.said("cut off");
    expect(await alone.ended).toBe(1);
    await expect(slow).rejects.toThrow("fetch failed");
  });

  test("ends politely when Ctrl-C reaches both npm and Node", async ({ worker, folder, open }) => {
    const alone = await start(open, worker, { SQLITE_FILE: join(folder, "npm.db") }, ["npm", "start"]);
    await alone.said("startedLeading");
    const slow = alone.ask("/slow?ms=5000");
    await alone.said("incoming request");

    alone.interrupt();
    await alone.said("SIGINT: stopping");
    // npm passes on the signal that the terminal sends to the whole group.
    alone.interrupt();

    expect(await slow).toMatchObject({ status: 200 });
    expect(await alone.said("stoppedLeading")).toMatchObject({ released: true });
    // This is the end of npm. It does not report how Node ended, but all of Node's lines have arrived.
    await alone.ended;
    expect(alone.lines).toContainEqual(expect.objectContaining({ msg: "request completed" }));
  });

  test("is live and not ready while it has never reached the store, and still ends politely", async ({ worker, open }) => {
    const port = await freePort();
    const lost = await start(open, worker, { DATABASE_URL: `postgres://nobody@127.0.0.1:${port}/none` });
    await lost.said("ECONNREFUSED");

    expect(await lost.ask("/health/live")).toMatchObject({ status: 200, body: { leading: false } });
    expect(await lost.ask("/health/ready")).toMatchObject({
      status: 503,
      body: { state: "standby", lastError: { code: "STORE_UNAVAILABLE" } },
    });
    lost.signal("SIGTERM");
    expect(await lost.ended).toBe(0);
  });

  test("says what is wrong with its settings in one line, and exits with 1", async ({ worker, open }) => {
    const wrong = [
      [{ NODE_ENV: "production" }, "Set DATABASE_URL, or SQLITE_FILE"],
      [{ LEASE_DURATION_MS: "15" }, "Were 15 seconds meant?"],
      [{ DATABASE_URL: "mysql://db/app" }, "must be a URL such as postgres://"],
      [{ PORT: "http" }, "port should be"],
    ] as const;
    for (const [env, message] of wrong) {
      const failed = open.use(new ExampleProcess(worker, ["node", "dist/main.js"], env));
      expect(await failed.ended).toBe(1);
      expect(failed.lines).toMatchObject([{ level: 60, msg: expect.stringContaining(message) }]);
      expect(failed.stderr).toBe("");
    }
  });

  test("on PostgreSQL: a leader that is cut off leads no more before another does, and stays live and ready", async ({
    worker,
    open,
  }) => {
    const postgres = await startPostgres();
    open.defer(async () => postgres.stop());
    const proxy = open.use(await startTcpFaultProxy(postgres.port));
    const direct = { DATABASE_URL: postgres.url };
    for (let time = 1; time <= 2; time += 1) await worker.runWith(direct, "npm", "run", "migrate");
    const leader = await start(open, worker, { DATABASE_URL: postgres.url.replace(/:\d+\//, `:${proxy.port}/`) });
    await leader.said("billed a batch");
    const standby = await start(open, worker, direct);
    await standby.said("newLeader");
    expect(await leader.ask("/health/ready")).toMatchObject({ status: 200, body: { state: "leading", leading: true, term: 1 } });
    expect(await standby.ask("/health/ready")).toMatchObject({ status: 200, body: { state: "standby", leading: false } });

    proxy.loseRequests();
    proxy.loseReplies();
    // Ask in this order, because otherwise the first might still lead when it answers.
    await standby.answers("/leader", (body) => body["leading"] === true);
    const cutOff = { leading: false, validForMs: 0, lastError: { code: "STORE_TIMEOUT" } };
    expect(await leader.ask("/health/live")).toMatchObject({ status: 200, body: cutOff });
    const { status, body } = await leader.ask("/health/ready");
    expect(status).toBe(200);
    expect(body).toMatchObject(cutOff);
    expect(body["lastContactAgeMs"]).toBeGreaterThan(LEASE_MS * 0.9);

    proxy.heal();
    await leader.answers("/health/ready", (health) => health["lastError"] === undefined);
    standby.signal("SIGTERM");
    await leader.said(({ event, term }) => event === "startedLeading" && term === 3);
    expect(await standby.ended).toBe(0);
  });

  test("does not lead in its first answer after a freeze", async ({ worker, folder, open }) => {
    const [leader, standby] = await startTwo(open, worker, { SQLITE_FILE: join(folder, "frozen.db") });
    // It is now in a wait that can be cancelled.
    await leader.said("billed a batch");
    await leader.freeze();
    const first = leader.ask("/health/ready");
    await standby.said("startedLeading");

    leader.thaw();

    expect(await first).toMatchObject({ status: 200, body: { leading: false, validForMs: 0 } });
    await leader.said("stoppedLeading");
    expect((await leader.ask("/health/live")).body).toMatchObject({ state: "standby", leading: false });
    expect((await standby.ask("/leader")).body).toMatchObject({ leading: true });
  });

  test("is built by its Dockerfile, and runs as its image does", async ({ worker, folder, open }) => {
    const dockerfile = new Dockerfile(await worker.read("Dockerfile"));
    expect(dockerfile.faults).toEqual([]);
    expect((await worker.read(".dockerignore")).split("\n")).toEqual(expect.arrayContaining(["node_modules", "*.db*"]));

    const image = await dockerfile.build(worker.folder, join(folder, "image"), async (stage) =>
      writeFile(join(stage, ".npmrc"), (await workshop.registry).npmrc),
    );

    const env = { NODE_ENV: "production", SQLITE_FILE: join(folder, "image.db") };
    const main = await start(open, { folder: image }, env, dockerfile.command);
    const probe = (port: number): Promise<number | string> =>
      open.use(new ExampleProcess({ folder: image }, dockerfile.healthCommand, { PORT: String(port) })).ended;
    expect(await probe(main.port)).toBe(0);
    expect(await probe(await freePort())).toBe(1);
    main.signal("SIGTERM");
    expect(await main.ended).toBe(0);
  });
});

describe.concurrent("the check of Dockerfiles", () => {
  test("finds what it looks for", async ({ folder }) => {
    const faults = new Dockerfile("FROM node\nWORKDIR app\nUSER root\nCMD npm start\n").faults;
    expect(faults).toHaveLength(4);
    const missing = new Dockerfile("FROM node:24\nCOPY absent ./\n").build(folder, join(folder, "missing"), async () => {});
    await expect(missing).rejects.toThrow("COPY finds no absent");
  });
});
