import { join } from "node:path";
import { describe, expect } from "vitest";
import { ExampleProcess, type Line } from "@leasehold/test-kit/processes/example-process";
import { LEASE_MS, test as base, TIME_LIMIT_MS, workshop } from "./test.ts";

const test = base.extend("cronJob", async ({}) => workshop.install("cron-job", "build"));

/** The times of the reports that a host has written. */
function writtenBy(host: ExampleProcess): string[] {
  return host.lines.flatMap(({ msg }) => /^(\S+): .* is written$/.exec(String(msg))?.[1] ?? []);
}

/** Returns the time of the first report that a host begins and that is due at or after `fromMs`. */
async function begun(host: ExampleProcess, fromMs: number): Promise<string> {
  const dueOf = ({ msg }: Line): string => /^(\S+): writing the report, attempt 1$/.exec(String(msg))?.[1] ?? "";
  return dueOf(await host.said((line) => Date.parse(dueOf(line)) >= fromMs));
}

describe.concurrent("examples/cron-job", { timeout: TIME_LIMIT_MS }, () => {
  test("writes each report once, on whichever host, and ends politely", async ({ cronJob, folder, open }) => {
    const env = { SCHEDULE: "* * * * * *", SQLITE_FILE: join(folder, "reports.db") };
    const hosts = [1, 2].map(() => open.use(new ExampleProcess(cronJob, ["npm", "start"], env)));
    const outcomesOf = ({ lines }: ExampleProcess): number =>
      lines.filter(({ msg }) => / is written$|: done$/.test(String(msg))).length;
    const isDone = ({ msg }: Line): boolean => String(msg).endsWith(": done");
    const doneBy = ({ lines }: ExampleProcess): number => lines.filter((line) => isDone(line)).length;
    await Promise.all(hosts.map(async (host) => host.said(() => outcomesOf(host) >= 6)));
    // Both hosts are called for these ticks, because otherwise the test shows nothing.
    await Promise.race(hosts.map(async (host) => host.said(() => hosts.reduce((sum, each) => sum + doneBy(each), 0) > 3)));
    for (const host of hosts) host.interrupt();
    await Promise.all(hosts.map(async (host) => host.ended));

    const written = hosts.flatMap((host) => writtenBy(host)).toSorted();
    expect(written).toEqual([...new Set(written)]);
    const gaps = written.slice(1).map((due, index) => Date.parse(due) - Date.parse(written[index]!));
    // On a busy machine a scheduler may skip a tick.
    expect(gaps.filter((gap) => gap % 1_000 !== 0)).toEqual([]);
  });

  test.for(["SIGTERM", "SIGKILL"] as const)(
    "is done by the other host after %s in the middle of it",
    async (signal, { cronJob, folder, open }) => {
      // A report takes long enough to end its host during it.
      await cronJob.copyBuild(signal, "write-report.js", "2_000", "15_000");
      const env = { SCHEDULE: "*/5 * * * * *", SQLITE_FILE: join(folder, `${signal}.db`), LEASE_DURATION_MS: String(LEASE_MS) };
      const hosts = [1, 2].map(() => open.use(new ExampleProcess(cronJob, ["node", `${signal}/main.js`], env)));
      await Promise.all(hosts.map(async (host) => host.said("reports are due")));
      // Both hosts are called for ticks that are due from now on. The other host may not know of an earlier one.
      const fromMs = Date.now();
      const due = await Promise.race(hosts.map(async (host) => begun(host, fromMs)));
      const [first, second] = hosts[0]!.lines.some(({ msg }) => String(msg).startsWith(due)) ? hosts : hosts.toReversed();

      first!.signal(signal);

      await second!.said(`${due}: writing the report, attempt 2`);
      await second!.said(`${due}: the report of ${due} is written`);
      expect(await first!.ended).toBe(signal === "SIGTERM" ? 0 : signal);
      // The first host may have written the tick before, if it began that one before this test read its lines.
      expect(writtenBy(first!)).not.toContain(due);
    },
  );

  test("does a tick once that another scheduler names", async ({ cronJob, folder }) => {
    const env = { SQLITE_FILE: join(folder, "once.db") };
    const once = async (...args: readonly string[]): Promise<string> => cronJob.runWith(env, "node", "dist/once.js", ...args);
    // An occurrence must not be older than the retention of done ones.
    const hour = (ms: number): string => new Date(ms).toISOString().slice(0, "2026-11-20T03".length);
    const now = Date.now();
    const due = `${hour(now)}:00:00Z`;
    expect(await once(due)).toContain("is written");
    expect(await once(due)).toBe("done\n");
    expect(await once(`${hour(now + 3_600_000)}:00:00+01:00`)).toBe("done\n");
    await expect(once()).rejects.toThrow(/once.js\nSay when it was due: .*\n$/);
    await expect(once("today")).rejects.toThrow(/once.js today\nscheduledAt is "today", .*\n$/);
  });

  test("says what is wrong with its settings in one line", async ({ cronJob }) => {
    const wrong = [
      [{ SCHEDULE: "daily" }, "expected 5 or 6 fields"],
      [{ LEASE_DURATION_MS: "5" }, "Were 5 seconds meant?"],
    ] as const;
    for (const [env, message] of wrong) {
      const failed = cronJob.runWith(env, "node", "dist/main.js");
      await expect(failed).rejects.toThrow(message);
      await expect(failed).rejects.not.toThrow(/\n +at /);
    }
  });
});
