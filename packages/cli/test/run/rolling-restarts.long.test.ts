/** Restarts the three wrappers of each election in turn, again and again, as a deployment does. */
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Stage, type Wrapper } from "./wrapper.ts";

const ELECTIONS = 4;
/** `LEASEHOLD_RESTARTS=1000` takes several minutes. */
const RESTARTS = Number(process.env["LEASEHOLD_RESTARTS"] ?? 24);
const WRAPPERS = 3;

/** A command that leaves a process behind. It writes its beginning and its end to one file. */
const COMMAND = `
trap 'echo "end $LEASEHOLD_TERM" >> "$WITNESS"; exit 7' TERM
sleep 1000 &
echo "begin $LEASEHOLD_TERM" >> "$WITNESS"
echo begun
while :; do sleep 0.2; done`;

test("no orphan, no overlap, no lost exit code", { timeout: 300_000 + RESTARTS * 10_000 }, async () => {
  await using stage = new Stage();
  const mark = randomUUID();
  const elections = Array.from({ length: ELECTIONS }, (_, index) => `e${index}`);
  await Promise.all(elections.map(async (election) => roll(stage, election, mark)));
  for (const election of elections) {
    const lines = stage.read(election).trim().split("\n");
    const terms = lines.filter((line) => line.startsWith("begin")).map((line) => Number(line.split(" ")[1]));
    // A command begins only after the one of the last term is gone, and no term comes twice.
    expect(lines).toEqual(terms.flatMap((term) => [`begin ${term}`, `end ${term}`]));
    expect(terms).toEqual([...new Set(terms)].toSorted((one, other) => one - other));
    expect(terms.length).toBeGreaterThan(RESTARTS / ELECTIONS / WRAPPERS / 2);
  }
  expect(processesMarked(mark)).toEqual([]);
});

async function roll(stage: Stage, election: string, mark: string): Promise<void> {
  const start = (): Wrapper => {
    const env = { WITNESS: stage.path(election), MARK: mark };
    return stage.start({ election, command: ["sh", "-c", COMMAND], env, store: `${stage.store}-${election}` });
  };
  const wrappers = Array.from({ length: WRAPPERS }, start);
  for (let restart = 0; restart < RESTARTS / ELECTIONS; restart += 1) {
    const index = restart % WRAPPERS;
    await Promise.race([wrappers[index]!.said(/waiting/), wrappers[index]!.wrote(/begun/)]);
    await stop(wrappers[index]!);
    wrappers[index] = start();
  }
  for (const wrapper of wrappers) await stop(wrapper);
}

/** A wrapper ends with its command's own code, or with a stop's code if it ended before its command began. */
async function stop(wrapper: Wrapper): Promise<void> {
  wrapper.signal("SIGTERM");
  const code = await wrapper.exited;
  expect([code, wrapper.stderr]).toEqual([
    wrapper.stdout === "" ? expect.toSatisfy((value) => value === 143 || value === "SIGTERM") : 7,
    expect.not.stringMatching(/Error|lost|still there/),
  ]);
}

/** Returns the processes that have inherited the mark, without zombies. */
function processesMarked(mark: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return Number(pid) !== process.pid && readFileSync(`/proc/${pid}/environ`, "latin1").includes(mark);
    } catch {
      return false;
    }
  });
}
