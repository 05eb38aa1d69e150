import { expect, test } from "vitest";
import { formatDuration, parseDuration } from "../src/duration.ts";

test.for([
  ["15s", 15_000],
  ["500ms", 500],
  ["2m", 120_000],
  ["1.5h", 5_400_000],
  ["0s", 0],
  ["0.25s", 250],
] as const)("%s are %i ms", ([text, ms]) => {
  expect(parseDuration(text)).toBe(ms);
});

test.for(["15", "0", "", "s", "-1s", "1 s", "1e3s", "0.0001s", "15S", "1m30s", "99999999999999999h"])(
  "'%s' is no duration",
  (text) => {
    expect(() => parseDuration(text)).toThrow(/Say|Write/);
  },
);

test.for([
  [0, "0 ms"],
  [420.4, "420 ms"],
  [999, "999 ms"],
  [1_000, "1 s"],
  [4_240, "4.2 s"],
  [119_000, "119 s"],
  [120_000, "2 min"],
  [119 * 60_000, "119 min"],
  [2 * 3_600_000, "2 h"],
  [2.5 * 3_600_000, "2.5 h"],
  [47 * 3_600_000, "47 h"],
  [48 * 3_600_000, "2 d"],
  [3 * 86_400_000, "3 d"],
  [Infinity, "∞"],
] as const)("%d ms are shown as %s", ([ms, text]) => {
  expect(formatDuration(ms)).toBe(text);
});
