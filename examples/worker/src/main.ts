import { Elector, pinoLogger } from "@leasehold/core";
import { pino } from "pino";
import { createServer } from "./server.ts";
import { settings } from "./settings.ts";
import { openStore } from "./store.ts";
import { work } from "./work.ts";

const log = pino();
const stop = new AbortController();
// Not `once`: npm passes on a Ctrl-C that the terminal has sent to this process, too, and the second would end it at once.
for (const name of ["SIGTERM", "SIGINT"] as const) {
  process.on(name, () => {
    if (!stop.signal.aborted) log.info(`${name}: stopping`);
    stop.abort();
  });
}

try {
  await serve();
} catch (error) {
  log.fatal(error);
  process.exitCode = 1;
}

/** Answers and competes until it is told to stop, or the task throws. */
async function serve(): Promise<void> {
  const { port, url, leaseDurationMs, drainTimeoutMs } = settings;
  await using store = openStore();
  const elector = new Elector({
    store,
    election: "nightly-billing",
    value: url,
    leaseDurationMs,
    drainTimeoutMs,
    // A task that does not stop must not go on beside the next leader's: the process ends, with exit code 70.
    onOverrun: "exit",
    logger: pinoLogger(log),
  });
  const server = createServer(elector, log, stop.signal);
  stop.signal.addEventListener("abort", () => setTimeout(cutOff, drainTimeoutMs + 1_000).unref());
  try {
    // The same signal closes the server: nothing is accepted any more, and what is under way is answered. The handover need
    // not wait for that, nor that for the task.
    await server.listen({ port, host: "0.0.0.0", signal: stop.signal });
    if (!stop.signal.aborted) await elector.run((leadership) => work(leadership, log), { signal: stop.signal });
  } finally {
    stop.abort();
    await server.close();
  }
}

/** Not for ever: whoever has sent SIGTERM sends SIGKILL one day, and says nothing of requests. */
function cutOff(): void {
  log.error("requests are still under way: cut off");
  process.exit(1);
}
