// Plays random schedules: node --conditions=@leasehold/source packages/fleet/test/world/main.ts [--seeds N] [--first N] [--starts N] [--log]

import { parseArgs } from "node:util";
import { explore } from "./explore.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "200" },
    first: { type: "string", default: "1" },
    starts: { type: "string", default: "Infinity" },
    problems: { type: "string", default: "1" },
    log: { type: "boolean", default: false },
  },
});

const first = Number(values.first);
let starts = 0;
let guarded = 0;
let refused = 0;
let seeds = 0;
let problems = 0;
const settled: number[] = [];
for (let seed = first; seed < first + Number(values.seeds) && starts < Number(values.starts); seed += 1) {
  const outcome = await explore(seed);
  seeds += 1;
  starts += outcome.starts;
  guarded += outcome.guarded;
  refused += outcome.refused;
  settled.push(outcome.settledMs);
  if (outcome.problem === undefined) continue;
  problems += 1;
  console.log(`seed ${seed}: ${outcome.problem}`);
  if (values.log) console.log(outcome.log.join("\n"));
  if (problems >= Number(values.problems)) break;
}
settled.sort((a, b) => a - b);
console.log(
  `${seeds} seeds from ${first}, ${starts} starts of shards, ${guarded} guarded writes passed, ${refused} refused; ` +
    `settled after ${settled[settled.length >> 1]?.toFixed(0)} ms in the median, ${settled.at(-1)?.toFixed(0)} ms at most; ${problems} problems`,
);
process.exitCode = problems > 0 ? 1 : 0;
