/** One line of cron on three hosts whose clocks differ: the command runs once for each key. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { Stage, type Wrapper } from "./wrapper.ts";

const stage = new Stage();
afterAll(async () => stage[Symbol.asyncDispose]());

const HOSTS = ["a", "b", "c"];
/** The hosts' wall clocks: one is a minute behind, one a minute ahead. */
const SKEWS_MS = [-60_000, 0, 60_000];

function cronLine(
  election: string,
  host: number,
  key: string,
  script: string,
  ...args: readonly string[]
): Promise<Wrapper & { code: number | string }> {
  const env = { LOG: stage.path(election), SKEW_MS: String(SKEWS_MS[host]) };
  return stage.run({
    election,
    command: ["sh", "-c", script],
    args: ["--occurrence", key, "--id", HOSTS[host]!, ...args],
    env,
    watched: true,
  });
}

const ran = (election: string): readonly string[] =>
  stage
    .read(election)
    .split("\n")
    .filter((line) => line !== "");

describe.concurrent("run --occurrence", { timeout: 300_000 }, () => {
  test("is done once, however far the hosts' clocks are apart, and later hosts find it done", async () => {
    for (const key of ["2026-11-23T03:00Z", "2026-11-23T04:00Z"]) {
      // The hosts' crons start one after another. The last one starts when the occurrence is long done.
      const codes: Array<number | string> = [];
      for (const host of [2, 1, 0]) codes.push((await cronLine("once", host, key, 'echo "$LEASEHOLD_ELECTION" >> "$LOG"')).code);
      expect(codes).toEqual([0, 0, 0]);
    }
    expect(ran("once")).toEqual(["once@2026-11-23T03:00Z", "once@2026-11-23T04:00Z"]);
  });

  test("runs on one of three hosts at once; the others end with a conflict, or wait until it is done", async () => {
    const script = 'echo run >> "$LOG"; while [ ! -e "$LOG.go" ]; do sleep 0.05; done';
    const first = cronLine("at-once", 0, "k", script);
    while (ran("at-once").length === 0) await delay(20);
    const waiting = cronLine("at-once", 2, "k", script, "--wait", "100s");
    const second = await cronLine("at-once", 1, "k", script);
    stage.write("at-once.go", "");
    const third = await waiting;
    expect([(await first).code, second.code, third.code]).toEqual([0, 75, 0]);
    expect(second.stderr).toContain("in progress elsewhere");
    expect(third.stderr).toContain("done already");
    expect(ran("at-once")).toEqual(["run"]);
  });

  test("is done by a waiting host if the first host dies", async () => {
    const first = stage.start({ election: "dying", command: ["sleep", "1000"], args: ["--occurrence", "k", "--lease", "3s"] });
    await first.said(/leading/);
    const waiting = cronLine("dying", 1, "k", 'echo done >> "$LOG"', "--wait", "60s");
    first.signal("SIGKILL");
    expect((await waiting).code).toBe(0);
    expect(ran("dying")).toEqual(["done"]);
  });
});
