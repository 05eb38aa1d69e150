import { expect, test } from "vitest";
import { isInBackground } from "../../src/run/background.ts";

const stat = (group: number, foreground: number): string => `42 (a (b) c) S 7 ${group} 5 34816 ${foreground} 4194304 1 0`;

test.each([
  ["another job is in the foreground", stat(42, 5), true, true],
  ["it is in the foreground itself", stat(42, 42), true, false],
  ["it reads no terminal", stat(42, 5), false, false],
  ["it has no terminal that could be another job's", stat(42, -1), true, false],
  ["the system has no such file", "", true, false],
])("tells whether it is in the background if %s", (_what, text, readsTerminal, expected) => {
  expect(isInBackground(text, readsTerminal)).toBe(expected);
});
