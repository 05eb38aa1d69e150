import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { NpxWatch } from "../../src/run/npx-watch.ts";

const NPX = { npm_command: "exec", npm_lifecycle_event: "npx", npm_lifecycle_script: "'leasehold' 'run'" };

interface Family {
  parent: number;
  /** Undefined if the parent is no shell. */
  grandparent: number | undefined;
}

/** Returns how often the watch reports the end of npx. The family changes after a minute. */
async function gone(
  env: Readonly<Record<string, string>>,
  {
    disposed = false,
    before = {},
    changed = { parent: 1 },
  }: { disposed?: boolean; before?: Partial<Family>; changed?: Partial<Family> } = {},
): Promise<number> {
  const clock = new VirtualClock();
  let times = 0;
  const family: Family = { parent: 70, grandparent: undefined, ...before };
  const watch = new NpxWatch({
    env,
    clock,
    parent: () => family.parent,
    parentOfShell: () => family.grandparent,
    onGone: () => (times += 1),
  });
  await clock.advance(60_000);
  expect(times).toBe(0);
  if (disposed) watch[Symbol.dispose]();
  Object.assign(family, changed);
  await clock.advance(60_000);
  return times;
}

test("reports once that the npx which started this process has ended", async () => {
  expect(await gone(NPX)).toBe(1);
  expect(await gone(NPX, { disposed: true })).toBe(0);
});

test("reports the end of npx if npm's shell goes on", async () => {
  expect(await gone(NPX, { before: { grandparent: 60 }, changed: { grandparent: 1 } })).toBe(1);
  // The table of processes cannot be read for a while.
  expect(await gone(NPX, { before: { grandparent: 60 }, changed: { grandparent: undefined } })).toBe(0);
});

test.each([
  ["npm did not start it", {}],
  ["a script of a package started it", { ...NPX, npm_command: "run", npm_lifecycle_event: "start" }],
  ["a program that npx started is the parent", { ...NPX, npm_lifecycle_script: "'pm2' 'start'" }],
  ["it is the command of another run", { ...NPX, LEASEHOLD_TERM_ID: "a-term" }],
])("ignores the end of the parent if %s", async (_what, env) => {
  expect(await gone(env)).toBe(0);
});
