/** `npm run demo`: see `command-line.ts` for what it takes, and `scenario.ts` for what it does. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { ContainerClient } from "@azure/storage-blob";
import { BlobLeaseStore } from "@leasehold/azure-blob";
import { timing } from "@leasehold/core";
import { startAzurite } from "../backends/azurite.ts";
import { readCommandLine, USAGE, type CommandLine } from "./command-line.ts";
import { EventLog } from "./event-log.ts";
import type { Evidence } from "./expectations.ts";
import { JsonLines } from "./json-lines.ts";
import { LedgerWatch } from "./ledger-watch.ts";
import { play } from "./scenario.ts";
import { summarize } from "./summary.ts";
import { takeoversOf } from "./takeover.ts";
import { TerminalView } from "./terminal.ts";
import { Workers } from "./workers.ts";

/** Azure's shortest. */
const LEASE_MS = 15_000;
const UNIT_OF_WORK_MS = 1_000;
const CONTAINER = "demo";
const ELECTION = "ledger-keeper";
const LEDGER = "ledger";
const WATCHDOG_MS = 110_000;
const SIGNAL_EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** Somebody ended the demo before its end. */
class Interrupted extends Error {
  readonly exitCode: number;

  constructor(signal: keyof typeof SIGNAL_EXIT_CODES) {
    super(`The demo was ended by ${signal}.`);
    this.exitCode = SIGNAL_EXIT_CODES[signal];
  }
}

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  let commandLine: CommandLine;
  try {
    commandLine = readCommandLine(args);
    if (process.platform === "win32") throw new Error("The demo freezes processes with SIGSTOP, which Windows does not have.");
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}`);
    return 2;
  }
  if (commandLine.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const stop = new AbortController();
  for (const signal of Object.keys(SIGNAL_EXIT_CODES) as (keyof typeof SIGNAL_EXIT_CODES)[]) {
    // Not `once`: a second Ctrl-C must not end this process while it cleans up.
    process.on(signal, () => stop.abort(new Interrupted(signal)));
  }
  // The reader of a pipe may leave: `npm run demo | head`.
  process.stdout.on("error", (error) => stop.abort(error));
  const watchdog = setTimeout(() => stop.abort(new Error(`It did not end within ${WATCHDOG_MS / 1_000} s.`)), WATCHDOG_MS);
  try {
    return (await run(commandLine, stop)) ? 0 : 1;
  } catch (error) {
    // What fails because of Ctrl-C, which reaches every process of the terminal, is no news.
    const interrupted = stop.signal.reason instanceof Interrupted ? stop.signal.reason : undefined;
    process.stderr.write(`${interrupted?.message ?? String(error)}\n`);
    return interrupted?.exitCode ?? 1;
  } finally {
    clearTimeout(watchdog);
  }
}

/** Everything from the first process to the last; whatever happens, none is left. Returns whether every expectation held. */
async function run({ json, out }: CommandLine, stop: AbortController): Promise<boolean> {
  await using azurite = await startAzurite();
  stop.signal.throwIfAborted();
  const { connectionString } = azurite;
  const container = new ContainerClient(connectionString, CONTAINER, { retryOptions: { maxTries: 1 } });
  const lease = timing({ leaseDurationMs: LEASE_MS }, new BlobLeaseStore({ container }).capabilities);

  const log = new EventLog(stop.signal);
  using view = json ? new JsonLines() : new TerminalView(log);
  log.listen((event) => view.show(event));
  log.note("demo", null, {
    leaseDurationMs: lease.leaseDurationMs,
    retryPeriodMs: lease.retryPeriodMs,
    service: `Azure Blob Storage (Azurite, in memory, ${azurite.url})`,
  });
  await using ledger = new LedgerWatch(container.getBlockBlobClient(LEDGER));
  let failure: Error | undefined;
  try {
    await perform(log, connectionString, stop);
  } catch (error) {
    if (stop.signal.reason instanceof Interrupted) throw error;
    const { message, cause } = error as Error;
    const waiting = `It was waiting for ${log.waitingFor?.what ?? "nothing"}.`;
    failure = new Error([`${message} ${waiting}`, ...(typeof cause === "string" ? [cause] : [])].join("\n"));
  }
  await ledger.end();
  const endsAt = log.now();
  const events = [...log.events];
  const takeovers = takeoversOf(events, lease.leaseDurationMs, lease.validForMs);
  const evidence: Evidence = { events, takeovers, timing: lease, ledger: ledger.versions };
  const picture = await writePicture(out, evidence, endsAt).catch((error: unknown) => {
    failure ??= new Error(`The picture could not be written. ${String(error)}`);
    return null;
  });
  const summary = summarize(evidence, picture, failure);
  log.note("summary", null, summary);
  return summary.ok;
}

async function perform(log: EventLog, connectionString: string, stop: AbortController): Promise<void> {
  await using workers = new Workers({
    log,
    settings: {
      connectionString,
      containerName: CONTAINER,
      election: ELECTION,
      ledgerName: LEDGER,
      leaseDurationMs: LEASE_MS,
      unitOfWorkMs: UNIT_OF_WORK_MS,
    },
    onCrash: (error) => stop.abort(error),
  });
  await play({ log, workers, signal: stop.signal });
}

async function writePicture(out: string, evidence: Evidence, endsAt: number): Promise<string> {
  // Loaded now: it takes a while, and nothing before needs it.
  const { pictureOf } = await import("./picture.ts");
  await mkdir(dirname(resolve(out)), { recursive: true });
  await writeFile(out, await pictureOf(evidence, endsAt));
  return out;
}
