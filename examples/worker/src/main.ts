import { Elector, pinoLogger } from "@leasehold/core";
import { pino } from "pino";
import { createServer } from "./server.ts";
import { settings } from "./settings.ts";
import { openStore } from "./store.ts";
import { work } from "./work.ts";

const log = pino();
const stop = new AbortController();
// Do not use `once`: npm passes on a Ctrl-C that the terminal sends to this process too. The second signal would end it at once.
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

/** Answers and competes until a signal aborts it, or the task throws. */
async function serve(): Promise<void> {
  const { port, url, leaseDurationMs, drainTimeoutMs } = settings;
  await using store = openStore();
  const elector = new Elector({
    store,
    election: "nightly-billing",
    value: url,
    leaseDurationMs,
    drainTimeoutMs,
    // A task that does not stop must not continue beside the next leader's task, so the process ends with exit code 70.
    onOverrun: "exit",
    logger: pinoLogger(log),
  });
  const server = createServer(elector, log, stop.signal);
  stop.signal.addEventListener("abort", () => setTimeout(cutOff, drainTimeoutMs + 1_000).unref());
  try {
    // The same signal closes the server: it accepts no more requests, and answers the open ones. The release and the requests do
    // not wait for each other.
    await server.listen({ port, host: "0.0.0.0", signal: stop.signal });
    if (!stop.signal.aborted) await elector.run((leadership) => work(leadership, log), { signal: stop.signal });
  } finally {
    stop.abort();
    await server.close();
  }
}

/** Exits after a limit, because SIGKILL follows SIGTERM and leaves no message about requests. */
function cutOff(): void {
  log.error("requests are still under way: cut off");
  process.exit(1);
}
