/**
 * A program that starts the backend of its first argument, for tests of the backend's end. It stops the backend, pauses it, or
 * lets it serve, as its second argument says. Then it prints the backend's process id.
 */
import { startAzurite } from "../backends/azurite.ts";
import { startMoto } from "../backends/moto.ts";
import { startPostgres } from "../backends/postgres.ts";

const starts = { azurite: startAzurite, moto: startMoto, postgres: startPostgres };

/** The backends that this program can own. */
export type OwnedBackend = keyof typeof starts;

/** The action on the backend, once that has started. */
export type Then = "serve" | "pause" | "stop";

const backend = await starts[process.argv[2] as OwnedBackend]();
const then = process.argv[3] as Then;
if (then === "pause") await backend.pause();
if (then === "stop") await backend.stop();
process.stdout.write(`${JSON.stringify({ pid: backend.pid })}\n`);
