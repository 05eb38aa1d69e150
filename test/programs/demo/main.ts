/** `npm run demo`. The arguments are in `command-line.ts`, and the acts of the demo in the stories. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { timing } from "@leasehold/core";
import { Interrupted, onInterruption } from "@leasehold/test-kit/processes/interruption";
import { testStore } from "@leasehold/test-kit/stores/stores";
import type { StoreService } from "@leasehold/test-kit/stores/test-store";
import { commandLine } from "../command-line.ts";
import { readCommandLine, USAGE, type CommandLine } from "./command-line.ts";
import { EventLog } from "./event-log.ts";
import type { Evidence } from "./expectations.ts";
import { playFleet } from "./fleet-story.ts";
import type { Story } from "./story.ts";
import { summarize } from "./summary.ts";
import { takeoversOf } from "./takeover.ts";
import { jsonLines, story as storyLines } from "./views.ts";
import { serverStory, workerStory } from "./worker-story.ts";
import { Workers } from "./workers.ts";

const ELECTION = "ledger-keeper";
const LEDGER = "ledger";
/** Both durations are in leases, so that the story is the same with any lease. */
const UNIT_OF_WORK = 1 / 15;
const RETRY_PERIOD = 2 / 15;
/** Ten times the duration of the longest demo. */
const WATCHDOG_MS = 600_000;

/** The durations of the demo, which depend on its lease. */
interface Pace {
  readonly leaseDurationMs: number;
  readonly retryPeriodMs: number;
  readonly unitOfWorkMs: number;
}

const told = commandLine(readCommandLine, USAGE);
if (told) process.exitCode = await main(told);

async function main(given: CommandLine): Promise<number> {
  const { store } = given;
  const missing = await (await testStore(store)).missing();
  if (missing !== undefined) {
    process.stderr.write(`The demo cannot run on '${store}' here. ${missing}\n`);
    return 2;
  }
  const stop = new AbortController();
  onInterruption("The demo", (reason) => stop.abort(reason));
  const watchdog = setTimeout(() => stop.abort(new Error(`It did not end within ${WATCHDOG_MS / 1_000} s.`)), WATCHDOG_MS);
  try {
    return (await (given.fleet ? playFleet(stop.signal) : run(given, stop))) ? 0 : 1;
  } catch (error) {
    // Ctrl-C reaches every process of the terminal, so errors after it are expected and not printed.
    const interrupted = stop.signal.reason instanceof Interrupted ? stop.signal.reason : undefined;
    process.stderr.write(`${interrupted?.message ?? String(error)}\n`);
    return interrupted?.exitCode ?? 1;
  } finally {
    clearTimeout(watchdog);
    // The same Ctrl-C may have ended the service first. An SDK would then retry and keep this process alive.
    if (stop.signal.aborted) setImmediate(() => process.exit());
  }
}

/** Runs the whole demo, and ends all its processes, also after an error. Returns whether every expectation held. */
async function run({ store: name, json, out }: CommandLine, stop: AbortController): Promise<boolean> {
  const { title, leaseDurationMs, start, open } = await testStore(name);
  const pace = { leaseDurationMs, retryPeriodMs: leaseDurationMs * RETRY_PERIOD, unitOfWorkMs: leaseDurationMs * UNIT_OF_WORK };
  await using service = await start();
  stop.signal.throwIfAborted();
  const { store, close } = await open(service.settings);
  // A client must not be closed while its SDK still retries a request. After a stop, the exit of this process closes the client.
  await using _ = { [Symbol.asyncDispose]: async () => (stop.signal.aborted ? undefined : close()) };
  const lease = timing(pace, store.capabilities);

  const log = new EventLog(stop.signal);
  log.listen(json ? jsonLines() : storyLines());
  const { retryPeriodMs } = lease;
  const { place, seats } = service;
  const story = seats ? serverStory : workerStory;
  log.note("demo", null, {
    leaseDurationMs,
    retryPeriodMs,
    store: title,
    place,
    cast: story.cast,
  });
  let failure: Error | undefined;
  try {
    await perform(story, { log, service, pace, stop });
  } catch (error) {
    if (stop.signal.reason instanceof Interrupted) throw error;
    const { message, cause } = error as Error;
    const waiting = `It was waiting for ${log.waitingFor?.what ?? "nothing"}.`;
    failure = new Error([`${message} ${waiting}`, ...(typeof cause === "string" ? [cause] : [])].join("\n"));
  }
  const endsAt = log.now();
  const events = [...log.events];
  const takeovers = takeoversOf(events, lease.leaseDurationMs, lease.validForMs);
  const evidence: Evidence = { store: title, events, takeovers, timing: lease };
  const picture = await writePicture(out, story.cast, evidence, endsAt).catch((error: unknown) => {
    failure ??= new Error(`The picture could not be written. ${String(error)}`);
    return null;
  });
  const summary = summarize(evidence, picture, failure);
  log.note("summary", null, summary);
  return summary.ok;
}

interface Performance {
  readonly log: EventLog;
  readonly service: StoreService;
  readonly pace: Pace;
  readonly stop: AbortController;
}

async function perform(story: Story, { log, service, pace, stop }: Performance): Promise<void> {
  const { settings: store, seats } = service;
  await using workers = new Workers({
    log,
    seats,
    settings: { store, election: ELECTION, ledgerName: LEDGER, ...pace },
    onCrash: (error) => stop.abort(error),
  });
  await story.play({ log, workers, unitOfWorkMs: pace.unitOfWorkMs, signal: stop.signal });
}

async function writePicture(out: string, cast: string, evidence: Evidence, endsAt: number): Promise<string> {
  // Load this module only now, because that takes a while and only the picture needs it.
  const { pictureOf } = await import("./picture.ts");
  await mkdir(dirname(resolve(out)), { recursive: true });
  await writeFile(out, await pictureOf(cast, evidence, endsAt));
  return out;
}
