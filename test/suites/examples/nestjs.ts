import { join } from "node:path";
import { describe, expect } from "vitest";
import { freePort } from "@leasehold/test-kit/backends/free-port";
import { ExampleProcess } from "@leasehold/test-kit/processes/example-process";
import type { InstalledExample } from "./installed-example.ts";
import { test as base, TIME_LIMIT_MS, workshop } from "./test.ts";

/** No test waits until a lease has run out, so that this one can outlast any stall of a busy machine. */
const LEASE_MS = 60_000;

const test = base.extend("nestjs", async ({}) => workshop.install("nestjs", "build"));

async function start(
  open: AsyncDisposableStack,
  example: InstalledExample,
  env: NodeJS.ProcessEnv,
  main = "dist/main.js",
): Promise<ExampleProcess> {
  const PORT = String(await freePort());
  return open.use(
    new ExampleProcess(example, ["node", main], { NO_COLOR: "1", LEASE_DURATION_MS: String(LEASE_MS), PORT, ...env }),
  );
}

describe.concurrent("examples/nestjs", { timeout: TIME_LIMIT_MS }, () => {
  test("hands over on SIGTERM before it has answered what is under way, and exits with 0", async ({ nestjs, folder, open }) => {
    const env = { SQLITE_FILE: join(folder, "nest.db") };
    // Its slow request takes ten times as long as a release and a takeover on an idle machine.
    await nestjs.copyBuild("slower", "status.controller.js", "5_000", "20_000");
    const leader = await start(open, nestjs, env, "slower/main.js");
    await leader.said("Billed batch 1 of term 1");
    const standby = await start(open, nestjs, env);
    await standby.said("leads 'billing', term 1");
    expect(await leader.ask("/health/ready")).toMatchObject({ status: 200, body: { leading: true, term: 1 } });
    expect(await standby.ask("/health/ready")).toMatchObject({ status: 200, body: { leading: false } });
    let answered = false;
    const slow = leader.ask("/slow").finally(() => (answered = true));
    await Promise.race([leader.said("Answering slowly"), slow]);

    leader.signal("SIGTERM");

    await standby.said("Leading 'billing', term 2");
    expect(answered).toBe(false);
    expect(await slow).toEqual({ status: 200, body: { answered: true } });
    await leader.said("the lease is free");
    expect(await leader.ended).toBe(0);
  });

  test("sends the statements of each tick once", async ({ nestjs, folder, open }) => {
    const env = { SQLITE_FILE: join(folder, "ticks.db"), SCHEDULE: "* * * * * *" };
    const both = await Promise.all([start(open, nestjs, env), start(open, nestjs, env)]);
    await Promise.all(both.map(async (one) => one.said("successfully started")));
    const sent = (): string[] =>
      both.flatMap(({ lines }) => lines.flatMap(({ msg }) => /Sent the statements of (\S+)\.$/.exec(String(msg))?.[1] ?? []));
    await Promise.race(both.map(async (one) => one.said(() => sent().length >= 5)));
    const times = sent()
      .toSorted()
      .map((time) => Date.parse(time));
    // On a busy machine a scheduler may skip a tick.
    const gaps = times.slice(1).map((time, index) => time - times[index]!);
    expect(gaps.filter((gap) => gap <= 0 || gap % 1_000 !== 0)).toEqual([]);
    for (const one of both) one.signal("SIGTERM");
    const codes = await Promise.all(both.map(async (one) => one.ended));
    expect(codes, both.map(({ history }) => history).join("\n")).toEqual([0, 0]);
  });

  test("ends with 1 and says why where the store refuses, and where a setting is wrong", async ({ nestjs, open }) => {
    const wrong = [
      [{ SQLITE_FILE: "/nowhere/books.db", LEASE_DURATION_MS: "1000" }, "The file's folder must exist"],
      [{ LEASE_DURATION_MS: "15" }, "Were 15 seconds meant?"],
      [{ PORT: "http" }, "port should be"],
    ] as const;
    for (const [env, message] of wrong) {
      const failed = await start(open, nestjs, env);
      expect(await failed.ended).toBe(1);
      expect(`${failed.stderr}${failed.history}`).toMatch(new RegExp(`FATAL \\[main\\] .*${message.replace("?", "\\?")}`));
    }
  });
});
