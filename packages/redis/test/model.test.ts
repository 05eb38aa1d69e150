/** The simulation runs the scripts as a model in TypeScript. The model and a server give the same answers, and keep the same hashes. */
import { SeededRandom } from "@leasehold/core/testing";
import { RedisModel, type Keys } from "@leasehold/test-kit/simulated/redis-model";
import { describe, expect } from "vitest";
import { READ, WRITE } from "../src/scripts.ts";
import { hasNoRedis, test } from "./redis-test.ts";

const STEPS = 400;

describe.skipIf(hasNoRedis)("the model of the scripts", () => {
  test.for([1, 2, 3])("answers as a server does (seed %d)", async (seed, { server: { admin }, prefix }) => {
    const random = new SeededRandom(seed);
    const model = new RedisModel();
    const election = `${prefix}{e}`;
    const occurrence = `${prefix}{e}:tick:o`;
    const places: readonly Keys[] = [
      [election, `${election}:fence`],
      [occurrence, occurrence],
    ];
    const present = new Map<string, string>();
    let name = "";
    const kinds = new Set<string | null | undefined>();
    for (let step = 0; step < STEPS; step += 1) {
      const keys = random.pick(places);
      const version = `v${step}`;
      const term = Math.floor(random.between(1, 8));
      const values = [
        random.pick(["", "never", "stale", present.get(keys[0]) ?? "", present.get(keys[0]) ?? ""]),
        version,
        JSON.stringify({ step }),
        random.pick(["", String(step)]),
        random.pick([name, name, name, "-"]),
        random.pick(["9007199254740991", "9007199254740991", "0"]),
        "",
        random.pick(["", `${term} `, `${term} id`]),
        random.pick(["", String(term)]),
        "",
      ];
      const writes = random.chance(0.8);
      const [script, given] = writes ? [WRITE, values] : [READ, []];
      const answer = (await admin.eval(script.text, 2, ...keys, ...given)) as (string | null)[];
      name = String(answer[1]);
      const nowUs = Number(answer[0]);
      const expected = writes ? model.write(keys, values, nowUs, name) : model.read(keys, nowUs, name);
      expect(withoutEnd(answer), `step ${step}`).toEqual(withoutEnd(expected));
      if (answer[2] === "written") present.set(keys[0], version);
      kinds.add(answer[2]);
      for (const key of keys) expect(await admin.hgetall(key)).toEqual(model.fields(key));
    }
    expect(kinds).toEqual(new Set(["written", "late", "ahead", "record", "none"]));
  });

  test("finds data that is no record of ours in the same way", async ({ server: { admin }, prefix }) => {
    const keys: Keys = [`${prefix}{f}`, `${prefix}{f}:fence`];
    await admin.hset(keys[0], "mine", "1");
    const answer = (await admin.eval(READ.text, 2, ...keys)) as string[];
    expect(answer.slice(2)).toEqual(["foreign"]);
    await admin.del(keys[0]);
    await admin.set(keys[0], "text");
    expect(((await admin.eval(READ.text, 2, ...keys)) as string[]).slice(2)).toEqual(["foreign"]);
  });
});

/** A server ends an array at the first value that a script leaves out. */
function withoutEnd(answer: readonly (string | null)[]): readonly (string | null)[] {
  const last = answer.findLastIndex((value) => value !== null);
  return answer.slice(0, last + 1);
}
