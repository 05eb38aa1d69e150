import { expect, test } from "vitest";
import { StopRequest } from "../../src/run/stop-signals.ts";
import { tellHowItWent } from "../../src/run/term-outcome.ts";

const asked = new StopRequest("SIGINT");
const lost = new Error("the lease is lost");

test.each([
  ["the command's own", { exit: { code: 3 }, ended: undefined, overran: false }, 3, []],
  ["the command's own if it was asked to stop", { exit: { code: 3 }, ended: asked, overran: false }, 3, []],
  ["the signal's if there was no command yet", { exit: undefined, ended: asked, overran: false }, 130, []],
  [
    "of a loss, whatever the command's own code is",
    { exit: { code: 0 }, ended: lost, overran: false },
    75,
    ["the lease is lost"],
  ],
  [
    "70 if a process is still there",
    { exit: { code: 0 }, ended: asked, overran: true },
    70,
    [expect.stringContaining("still there")],
  ],
] as const)("the exit code is %s", (_what, outcome, code, told) => {
  const said: string[] = [];
  expect(tellHowItWent(outcome, { tell: (line) => void said.push(line), lostExitCode: 75 })).toBe(code);
  expect(said).toEqual(told);
});
