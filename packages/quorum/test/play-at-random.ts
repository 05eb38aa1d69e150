/** Plays orders at random for a range of seeds: `node --conditions=@leasehold/source packages/quorum/test/play-at-random.ts 1 10000`. */
import { RandomQuorum } from "./random-quorum.ts";

const [first = 1, count = 1_000] = process.argv.slice(2).map(Number);
const isTold = process.argv[4] === "--tell";
const begunMs = performance.now();
const total: Record<string, number> = { violations: 0 };
for (let seed = first; seed < first + count; seed += 1) {
  const quorum = new RandomQuorum(seed);
  try {
    await quorum.play(150);
  } catch (error) {
    total["violations"] = (total["violations"] ?? 0) + 1;
    console.log(`seed ${seed}: ${(error as Error).message}`);
  }
  if (isTold) console.log(quorum.log.join("\n"));
  for (const [what, times] of Object.entries(quorum.counts)) total[what] = (total[what] ?? 0) + times;
}
console.log(JSON.stringify({ first, count, ...total, seconds: (performance.now() - begunMs) / 1_000 }));
