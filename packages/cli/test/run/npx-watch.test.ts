import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { NpxWatch } from "../../src/run/npx-watch.ts";

const NPX = { npm_command: "exec", npm_lifecycle_event: "npx", npm_lifecycle_script: "'leasehold' 'run'" };

/** Returns how often the watch reports the end of npx. The parent ends after a minute. */
async function gone(env: Readonly<Record<string, string>>, disposed = false): Promise<number> {
  const clock = new VirtualClock();
  let [parent, times] = [70, 0];
  const watch = new NpxWatch({ env, clock, parent: () => parent, onGone: () => (times += 1) });
  await clock.advance(60_000);
  expect(times).toBe(0);
  if (disposed) watch[Symbol.dispose]();
  parent = 1;
  await clock.advance(60_000);
  return times;
}

test("reports once that the npx which started this process has ended", async () => {
  expect(await gone(NPX)).toBe(1);
  expect(await gone(NPX, true)).toBe(0);
});

test.each([
  ["npm did not start it", {}],
  ["a script of a package started it", { ...NPX, npm_command: "run", npm_lifecycle_event: "start" }],
  ["a program that npx started is the parent", { ...NPX, npm_lifecycle_script: "'pm2' 'start'" }],
  ["it is the command of another run", { ...NPX, LEASEHOLD_TERM_ID: "a-term" }],
])("ignores the end of the parent if %s", async (_what, env) => {
  expect(await gone(env)).toBe(0);
});
